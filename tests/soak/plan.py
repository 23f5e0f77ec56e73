"""What a soak asks for, and when, all of it drawn from its seed: meetings, their changes, their ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from schemas.ids import AccountId
from streams.meetings.answering import AnyCommand
from tests.meeting_commands import Caller

_BUSY_SHARE = 0.13
"""Of the meetings, those of one host alone, who wants more in a day than Zoom allows."""
_CHANGED, _MOVED, _CANCELLED = 0.5, 0.06, 0.25
_MOST_CHANGES = 3
_LEAST_COMPANY = 1_000
"""So many meetings make a busy host worth while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a meeting is to be in the end."""

    meeting_id: str
    account_id: str
    details: Mapping[str, Any]
    cancelled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One command at its moment, in seconds from the beginning."""

    at_seconds: float
    command: AnyCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that is asked for."""

    wishes: tuple[Wish, ...]
    asked: tuple[Asked, ...]
    """In order."""


def plan(random: Random, *, meetings: int, accounts: tuple[str, ...], hosts: int, seconds: float, at: datetime) -> Plan:
    """So many meetings within so many seconds; they begin a month after `at`."""
    wishes, asked = [], []
    for number in range(meetings):
        wish, commands = _meeting(
            random, number, accounts=accounts, hosts=hosts, busy=meetings >= _LEAST_COMPANY, at=at
        )
        moments = sorted(random.uniform(0.0, seconds) for _ in commands)
        wishes.append(wish)
        asked += [Asked(at_seconds=when, command=each) for when, each in zip(moments, commands, strict=True)]
    return Plan(wishes=tuple(wishes), asked=tuple(sorted(asked, key=lambda each: each.at_seconds)))


def _meeting(
    random: Random, number: int, *, accounts: tuple[str, ...], hosts: int, busy: bool, at: datetime
) -> tuple[Wish, list[AnyCommand]]:
    caller = Caller(key=f"soak-{number:05d}", account=AccountId(accounts[number % len(accounts)]))
    host = 1 if busy and random.random() < _BUSY_SHARE else random.randint(2, hosts)
    start = (at + timedelta(days=30, minutes=random.randrange(10_000))).replace(second=0, microsecond=0)
    details: dict[str, Any] = {
        "host": _host(host),
        "topic": f"Meeting {number}",
        "agenda": f"Of meeting {number}.",
        "start_time": start.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "timezone": "UTC",
        "duration_minutes": random.randrange(15, 120),
    }
    commands: list[AnyCommand] = [caller.create(**details)]
    for changed in _changes(random, number, hosts=hosts, start=start):
        details |= changed
        commands.append(caller.change(**changed))
    cancelled = random.random() < _CANCELLED
    if cancelled:
        commands.append(caller.cancel())
    wish = Wish(meeting_id=caller.meeting_id, account_id=caller.account, details=details, cancelled=cancelled)
    return wish, commands


def _changes(random: Random, number: int, *, hosts: int, start: datetime) -> Iterator[dict[str, Any]]:
    if random.random() >= _CHANGED:
        return
    for version in range(1, random.randint(1, _MOST_CHANGES) + 1):
        yield {
            "topic": f"Meeting {number}, version {version}",
            "agenda": f"Of meeting {number}, version {version}.",
            "start_time": (start + timedelta(hours=version)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "timezone": "UTC",
            "duration_minutes": random.randrange(15, 120),
            **({"host": _host(random.randint(2, hosts))} if random.random() < _MOVED else {}),
        }


def _host(number: int) -> str:
    return f"host-{number:02d}@example.com"
