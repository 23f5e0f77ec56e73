"""Faults to order: what shall go wrong, where, how often.

A fault names what it strikes (endpoints or events, account, host, meeting) and strikes the next `count` matches, each
with `probability`. All that are in force are listed and cleared by the control API.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from runtime.randomness import Random

_MOST_FAULTS = 1_000


class Target(StrEnum):
    """What a fault strikes."""

    REST = "rest"
    """Calls; the token endpoint's name is `token`."""
    WEBHOOK = "webhook"


class Kind(StrEnum):
    """What goes wrong. The first group is for calls, the last for webhooks."""

    ERROR = "error"
    """Answers `status` with `body` (or code and message), before acting or, with `acts`, after."""
    TOO_MANY = "too_many"
    """A 429 of the kind `limit`."""
    SLOW = "slow"
    """Answers `seconds` late; acts first if `acts`."""
    HANG = "hang"
    """Never answers; acts first if `acts`. The connection is closed after `seconds`."""
    ABORT = "abort"
    """Closes the connection without a byte; acts first if `acts`."""
    TRUNCATE = "truncate"
    """Acts, and answers with half of the JSON in a complete response."""
    CUT = "cut"
    """Acts, and closes the connection in the middle of the answer."""
    TOKEN_DEATH = "token_death"  # noqa: S105 - the name of a fault
    """Kills the account's tokens just before the call is looked at."""
    UNLISTED = "unlisted"
    """The room made by this create stays out of lists for `seconds`."""
    PERSONAL = "personal"
    """The room made by this create uses the host's personal meeting room."""
    IGNORE = "ignore"
    """The change leaves out `fields` (`topic`, `settings.waiting_room`) in silence."""
    COERCE = "coerce"
    """The create or change takes `values` in place of what was asked."""

    DROP = "drop"
    """The event is never sent, and the logs know nothing of it."""
    GIVE_UP = "give_up"
    """The event is never sent; the logs show four failed attempts."""
    DUPLICATE = "duplicate"
    """The event is sent once more under another request id, `seconds` later, `shift_ms` added to its event_ts."""
    DELAY = "delay"
    """The event is sent `seconds` later."""
    REORDER = "reorder"
    """The event is sent up to `seconds` later, at random."""
    FAIL = "fail"
    """The first `attempts` deliveries do not reach the receiver; Zoom's retries follow."""
    UNHEARD = "unheard"
    """The first `attempts` answers are lost on the way back; Zoom's retries follow."""
    BAD_SIGNATURE = "bad_signature"
    """The event is signed with another secret."""


WEBHOOK_KINDS = frozenset(
    (Kind.DROP, Kind.GIVE_UP, Kind.DUPLICATE, Kind.DELAY, Kind.REORDER, Kind.FAIL, Kind.UNHEARD, Kind.BAD_SIGNATURE)
)


@dataclass(slots=True, kw_only=True)
class Fault:
    """One order."""

    target: Target
    kind: Kind
    names: tuple[str, ...] = ("*",)
    """Endpoints or events, `*` standing for any text."""
    account_id: str | None = None
    host: str | None = None
    """E-mail or id of a host."""
    zoom_id: str | None = None
    count: int | None = None
    """How many more it strikes; None means until cleared."""
    probability: float = 1.0
    acts: bool = False
    seconds: float = 0.0
    status: int = 500
    code: int = 500
    message: str = "Internal Server Error."
    body: str | None = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    limit: str = "per_second"
    retry_after: str = "iso"
    fields: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    attempts: int = 1
    shift_ms: int = 0
    fault_id: int = 0
    struck: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a fault may strike now."""

    target: Target
    name: str
    account_id: str | None
    hosts: Iterable[str] = ()
    """Every name of the host: e-mail and id."""
    zoom_id: str | None = None


class Faults:
    """The orders in force."""

    def __init__(self, random: Random) -> None:
        """`random` decides about probabilities."""
        self._random = random
        self._orders: dict[int, Fault] = {}
        self._next = 1
        self.struck: dict[str, int] = {}

    def order(self, fault: Fault) -> Fault:
        """Puts a fault in force; the oldest gives way when there are too many."""
        fault.fault_id = self._next
        self._next += 1
        self._orders[fault.fault_id] = fault
        if len(self._orders) > _MOST_FAULTS:
            del self._orders[next(iter(self._orders))]
        return fault

    def strike(self, subject: Subject) -> list[Fault]:
        """The faults that strike now, each of them counted."""
        return [fault for fault in list(self._orders.values()) if self._strikes(fault, subject)]

    def clear(self, fault_id: int | None = None) -> int:
        """Lifts one fault or all, and says how many."""
        if fault_id is not None:
            return 1 if self._orders.pop(fault_id, None) else 0
        count = len(self._orders)
        self._orders.clear()
        return count

    def all(self) -> list[Fault]:
        """Every fault in force."""
        return list(self._orders.values())

    def chance(self) -> float:
        """A number from 0 to 1, for faults that draw lots themselves."""
        return self._random.random()

    def _strikes(self, fault: Fault, subject: Subject) -> bool:
        if not _matches(fault, subject) or self._random.random() >= fault.probability:
            return False
        fault.struck += 1
        self.struck[fault.kind.value] = self.struck.get(fault.kind.value, 0) + 1
        if fault.count is not None and fault.struck >= fault.count:
            del self._orders[fault.fault_id]
        return True


def _matches(fault: Fault, subject: Subject) -> bool:
    return (
        fault.target is subject.target
        and any(fnmatchcase(subject.name, pattern) for pattern in fault.names)
        and fault.account_id in (None, subject.account_id)
        and fault.zoom_id in (None, subject.zoom_id)
        and (fault.host is None or fault.host in subject.hosts)
    )
