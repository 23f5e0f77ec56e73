"""Facts about whether a room, or one date of a series, exists: created, updated, deleted, recovered, dates listed.

An occurrence of a series is an entry of its own, and one date is not the series: `deleted` and `recovered` concern
dates where dates are listed and the operation is not `all`. `single` on a series without dates says only that
something about some date changed: it asks for a GET.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.rooms.entry import Register
from streams.rooms.delta import Delta, heard, registers_of
from streams.rooms.fact import Fact, identifier

SERIES_TYPES = (3, 8)
"""Recurring without and with a fixed time."""
ORDER = {"created": 1, "deleted": 2, "recovered": 3}
"""Which statement about existence wins at equal times; a mere proof of existence is less than all of them."""

ECHOED = (("topic", "topic"), ("type", "type"), ("duration", "duration"), ("timezone", "timezone"))
"""What other events echo of a room's details; `start_time` is another thing in events of a run."""
_SCHEDULE = (*ECHOED, ("start_time", "start_time"))
_HOST = (("host_id", "host_id"),)
_APART = frozenset({"id", "occurrences", "registrant"})
_OF_A_DATE = frozenset({"id", "uuid", "type", "occurrences", "recurrence"})


def created(fact: Fact) -> list[Delta]:
    """`meeting.created`: every detail, existence, and all dates there are."""
    dates = _dates(fact.subject)
    registers = details(fact, fact.subject)
    registers["existence"] = _existence(fact, "created")
    maxima = heard(fact, proves=True, **({} if fact.time is None else {"dates_listed": fact.time}))
    return [Delta(fact, "room", (), registers, maxima=maxima), *(present(fact, date) for date in dates)]


def updated(fact: Fact) -> list[Delta]:
    """`meeting.updated`: only what changed, as of its `time_stamp`; a blank is a value here."""
    stamped = fact.at(fact.own_time(fact.payload.get("time_stamp"), "time_stamp") or fact.time)
    dates = _dates(fact.subject)
    of_dates = fact.payload.get("scope") in {"single", "range"} and fact.subject.get("type") in SERIES_TYPES
    gone = _ids(_dates(_old(fact))) - _ids(dates)
    statement = {"existence": _existence(stamped, "deleted")}
    removed = [Delta(stamped, "occurrence", (each,), statement) for each in sorted(gone)]
    known = heard(fact, proves=True)
    if not of_dates:
        own = Delta(fact, "room", (), details(stamped, fact.subject), maxima=known)
        return [own, *(present(stamped, date) for date in dates), *removed]
    if not dates and fact.time is not None:
        known["wanted_get"] = fact.time
    shared = {name: value for name, value in fact.subject.items() if name not in _OF_A_DATE}
    changed = [present(stamped, {**shared, **date}) for date in dates]
    return [Delta(fact, "room", (), maxima=known), *changed, *removed]


def deleted(fact: Fact) -> list[Delta]:
    """`meeting.deleted`, of the room or of dates."""
    return _whether(fact, "deleted")


def recovered(fact: Fact) -> list[Delta]:
    """`meeting.recovered`, of the room or of dates."""
    return _whether(fact, "recovered")


def permanently_deleted(fact: Fact) -> list[Delta]:
    """`meeting.permanently_deleted`: final, for the room or for dates."""
    dates = _concerned(fact)
    if dates is None:
        return [_asking(fact)]
    if dates:
        return [
            Delta(fact, "occurrence", (each,), maxima=heard(fact, proves=False, permanently_deleted=1))
            for each in dates
        ]
    return [Delta(fact, "room", (), echo(fact), maxima=heard(fact, proves=False, permanently_deleted=1))]


def converted(fact: Fact) -> list[Delta]:
    """`meeting.converted_to_webinar`."""
    registers = {**echo(fact), "converted_to_webinar": (fact.clock, True)}
    return [Delta(fact, "room", (), registers, maxima=heard(fact, proves=True))]


def details(fact: Fact, subject: Mapping[str, Any]) -> dict[str, Register]:
    """A register for every field of a meeting's own description; settings have one for each leaf."""
    clock = fact.clock
    registers: dict[str, Register] = {}
    for name, value in subject.items():
        if name == "settings" and isinstance(value, dict):
            _leaves(registers, clock, "settings", value)
        elif name not in _APART:
            registers[name] = (clock, value)
    return registers


def echo(fact: Fact) -> dict[str, Register]:
    """What an event about something else echoes of its room; only the host is as good as the room's own word."""
    return {
        **registers_of(fact.echo_clock, fact.subject, _SCHEDULE),
        **registers_of(fact.clock, fact.subject, _HOST),
    }


def present(fact: Fact, date: Mapping[str, Any]) -> Delta:
    """A date that a list names: there, unless the list itself calls it deleted."""
    occurrence_id = identifier(date.get("occurrence_id"), "occurrence_id")
    registers = {name: (fact.clock, value) for name, value in date.items() if name != "occurrence_id"}
    if date.get("status") == "deleted":
        registers["existence"] = _existence(fact, "deleted")
        return Delta(fact, "occurrence", (occurrence_id,), registers)
    return Delta(fact, "occurrence", (occurrence_id,), registers, maxima={"proof": fact.time or 0})


def listed_dates(subject: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The dates that an object lists."""
    return _dates(subject)


def _whether(fact: Fact, existence: str) -> list[Delta]:
    dates = _concerned(fact)
    if dates is None:
        return [_asking(fact)]
    statement = {"existence": _existence(fact, existence)}
    known = heard(fact, proves=existence == "recovered")
    if dates:
        return [Delta(fact, "occurrence", (each,), statement, maxima=known) for each in dates]
    return [Delta(fact, "room", (), {**echo(fact), **statement}, maxima=known)]


def _asking(fact: Fact) -> Delta:
    """Something about some date changed: only a GET can tell what."""
    return Delta(
        fact, "room", (), maxima=heard(fact, proves=False, **({} if fact.time is None else {"wanted_get": fact.time}))
    )


def _concerned(fact: Fact) -> list[str] | None:
    """The dates an event concerns; empty: it concerns the room; None: it does not say which date of a series."""
    if fact.payload.get("operation") == "all":
        return []
    dates = sorted(_ids(_dates(fact.subject)))
    if not dates and fact.payload.get("operation") == "single" and fact.subject.get("type") in SERIES_TYPES:
        return None
    return dates


def _existence(fact: Fact, statement: str) -> Register:
    return fact.ordered_clock(ORDER[statement]), statement


def _leaves(registers: dict[str, Register], clock: str, path: str, value: Mapping[str, Any]) -> None:
    for name, inner in value.items():
        if isinstance(inner, dict):
            _leaves(registers, clock, f"{path}.{name}", inner)
        else:
            registers[f"{path}.{name}"] = (clock, inner)


def _old(fact: Fact) -> Mapping[str, Any]:
    old = fact.payload.get("old_object")
    return old if isinstance(old, dict) else {}


def _dates(subject: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = subject.get("occurrences")
    if not isinstance(listed, list):
        return []
    return [
        date for date in listed if isinstance(date, dict) and identifier(date.get("occurrence_id"), "occurrence_id")
    ]


def _ids(dates: Sequence[Mapping[str, Any]]) -> set[str]:
    return {identifier(date.get("occurrence_id"), "occurrence_id") for date in dates}
