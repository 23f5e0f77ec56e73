"""Facts about runs of a room: started, ended, alerts.

When a run started is told best by `started`, then by `ended`, a past meeting, and an event of a participant; among
equals the earliest counts. `ended` is final for that uuid, and says nothing about another.
"""

from __future__ import annotations

from functools import lru_cache

from schemas.rooms.entry import Register
from streams.rooms.delta import Delta, heard, registers_of
from streams.rooms.existence import ECHOED, echo
from streams.rooms.fact import Fact
from zoom.times import LATEST_MS

BY_STARTED = 4
BY_ENDED = 3
BY_PAST_MEETING = 2
BY_PARTICIPANT = 1

_OF_A_RUN = (*ECHOED, ("host_id", "host_id"), ("host_email", "host_email"))


def started(fact: Fact) -> list[Delta]:
    """`meeting.started`."""
    time = fact.own_time(fact.subject.get("start_time"), "start_time")
    registers = {**_described(fact), **start_evidence(fact.time if time is None else time, BY_STARTED)}
    return [
        Delta(fact, "instance", (fact.uuid,), registers, maxima=heard(fact, proves=True, started=1)),
        Delta(fact, "room", (), _room_echo(fact), maxima=heard(fact, proves=True)),
    ]


def ended(fact: Fact) -> list[Delta]:
    """`meeting.ended`; it does not prove that the room exists any more."""
    start = fact.own_time(fact.subject.get("start_time"), "start_time")
    end = fact.own_time(fact.subject.get("end_time"), "end_time")
    registers = {
        **_described(fact),
        **start_evidence(start, BY_ENDED),
        **end_evidence(fact, fact.time if end is None else end),
    }
    return [
        Delta(fact, "instance", (fact.uuid,), registers, maxima=heard(fact, proves=False, ended=1)),
        Delta(fact, "room", (), _room_echo(fact), maxima=heard(fact, proves=False)),
    ]


def alert(fact: Fact) -> list[Delta]:
    """`meeting.alert`: what went wrong in a run, and when."""
    issues = fact.subject.get("issues")
    listed = {issue for issue in issues if isinstance(issue, str)} if isinstance(issues, list) else set()
    points = (
        {} if fact.time is None or not listed else {"alerts": tuple((fact.time, issue) for issue in sorted(listed))}
    )
    start = fact.own_time(fact.subject.get("start_time"), "start_time")
    registers = start_evidence(start, BY_PARTICIPANT)
    maxima = heard(fact, proves=True, started=1)
    return [Delta(fact, "instance", (fact.uuid,), registers, points=points, maxima=maxima)]


def start_evidence(time: int | None, carrier: int) -> dict[str, Register]:
    """A register that prefers the better carrier, then the earlier time."""
    return {} if time is None else {"started_at": start_register(time, carrier)}


@lru_cache(maxsize=4096)  # every event of a run says when the run started
def start_register(time: int, carrier: int) -> Register:
    """The start of a run as one carrier tells it."""
    return f"{carrier}{LATEST_MS - time:013d}", time


def end_evidence(fact: Fact, time: int | None) -> dict[str, Register]:
    """A register that prefers webhook over poll, then the later statement, then the later end."""
    return {} if time is None else {"ended_at": (f"{fact.rank}{fact.time_text()}{time:013d}", time)}


def _described(fact: Fact) -> dict[str, Register]:
    return registers_of(fact.clock, fact.subject, _OF_A_RUN)


def _room_echo(fact: Fact) -> dict[str, Register]:
    """A run's `start_time` is when it began, not when the room is scheduled."""
    registers = echo(fact)
    registers.pop("start_time", None)
    return registers
