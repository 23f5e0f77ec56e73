"""Facts about runs of a room: started and ended, what participants prove of a run, and alerts.

When a run started is told best by `started`, then by `ended`, a past meeting, and a participant's event; among equals
the earliest counts. `ended` is final for that uuid, and says nothing about another.
"""

from __future__ import annotations

from schemas.rooms.entry import Register
from streams.rooms.delta import Delta, heard, registers_at, room
from streams.rooms.existence import ECHOED, echo
from streams.rooms.fact import Fact, identifier
from zoom.times import LATEST_MS

BY_STARTED = 4
BY_ENDED = 3
BY_PAST_MEETING = 2
BY_PARTICIPANT = 1

_OF_A_RUN = {**ECHOED, "host_id": "host_id", "host_email": "host_email"}


def started(fact: Fact) -> list[Delta]:
    """`meeting.started`."""
    uuid = run_uuid(fact)
    time = fact.own_time(fact.subject.get("start_time"), "start_time")
    registers = start_evidence(fact.time if time is None else time, BY_STARTED)
    registers.update(_described(fact))
    return [
        Delta(fact, "instance", (uuid,), registers=registers, maxima={"started": 1}),
        room(fact, registers=_room_echo(fact), proves=True),
    ]


def ended(fact: Fact) -> list[Delta]:
    """`meeting.ended`."""
    uuid = run_uuid(fact)
    registers = start_evidence(fact.own_time(fact.subject.get("start_time"), "start_time"), BY_ENDED)
    registers.update(_described(fact))
    time = fact.own_time(fact.subject.get("end_time"), "end_time")
    registers.update(end_evidence(fact, fact.time if time is None else time))
    return [
        Delta(fact, "instance", (uuid,), registers=registers, maxima={"ended": 1}),
        room(fact, registers=_room_echo(fact)),
    ]


def alert(fact: Fact) -> list[Delta]:
    """`meeting.alert`: what went wrong in a run, and when."""
    issues = fact.subject.get("issues")
    listed = [issue for issue in issues if isinstance(issue, str)] if isinstance(issues, list) else []
    running = witnessed(fact)
    points = (
        {}
        if fact.time is None or not listed
        else {"alerts": tuple(sorted((fact.time, issue) for issue in set(listed)))}
    )
    return [
        Delta(fact, "instance", (run_uuid(fact),), registers=running.registers, points=points, maxima=running.maxima),
        room(fact, proves=True),
    ]


def witnessed(fact: Fact) -> Delta:
    """What an event from within a run proves of it: that it started, and when it says it did."""
    registers = start_evidence(fact.own_time(fact.subject.get("start_time"), "start_time"), BY_PARTICIPANT)
    registers.update(_described(fact))
    return Delta(fact, "instance", (run_uuid(fact),), registers=registers, maxima={"started": 1})


def run_uuid(fact: Fact) -> str:
    """The uuid of the run that the fact concerns; blank where it names none."""
    return identifier(fact.subject.get("uuid"), "uuid")


def start_evidence(time: int | None, carrier: int) -> dict[str, Register]:
    """A register that prefers the better carrier, then the earlier time."""
    return {} if time is None else {"started_at": (f"{carrier}{LATEST_MS - time:013d}", time)}


def end_evidence(fact: Fact, time: int | None) -> dict[str, Register]:
    """A register that prefers webhook over poll, then the later statement, then the later end."""
    return {} if time is None else {"ended_at": (f"{fact.rank}{fact.time_text()}{time:013d}", time)}


def _described(fact: Fact) -> dict[str, Register]:
    return registers_at(fact.clock(), heard(fact.subject, _OF_A_RUN))


def _room_echo(fact: Fact) -> dict[str, Register]:
    """A run's `start_time` is when it began, not when the room is scheduled."""
    registers = echo(fact)
    registers.pop("start_time", None)
    return registers
