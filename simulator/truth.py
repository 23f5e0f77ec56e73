"""What really was: each room's runs, and each person's attendance in them.

Attendance of a person in a run is the length of the union of the person's stays in whole seconds, as Zoom told them.
People are the simulator's own, so a truth never depends on how anybody recognises them again; `identity` says by what
they could be recognised, and is null for an anonymous guest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from simulator.model import Connection, Occurrence, Room, Run, Stay


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionTruth:
    """One `user_id`."""

    user_id: str
    parent_user_id: str | None
    breakout_room_uuid: str | None
    stays: Sequence[Stay]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonTruth:
    """One person in one run."""

    person: str
    identity: str | None
    name: str
    email: str
    zoom_user_id: str
    registrant_id: str
    present: bool
    seconds: int
    connections: Sequence[ConnectionTruth]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTruth:
    """One instance."""

    uuid: str
    started_at: datetime
    ended_at: datetime | None
    people: Sequence[PersonTruth]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrantTruth:
    """One registrant."""

    registrant_id: str
    email: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomTruth:
    """One room."""

    zoom_id: str
    account_id: str
    host_id: str
    host_email: str
    topic: str
    agenda: str
    start_at: datetime | None
    duration_minutes: int
    timezone: str
    settings: Mapping[str, Any]
    occurrences: Sequence[Occurrence]
    exists: bool
    purged: bool
    status: str
    """`waiting`, `started` or `deleted`."""
    created_at: datetime
    creation_source: str
    registrants: Sequence[RegistrantTruth]
    instances: Sequence[RunTruth]


def of_room(room: Room, *, as_of: datetime) -> RoomTruth:
    """The truth about a room; stays that are open count up to `as_of`."""
    details = room.details
    return RoomTruth(
        zoom_id=str(room.number),
        account_id=room.account.account_id,
        host_id=room.host.host_id,
        host_email=room.host.email,
        topic=details.topic,
        agenda=details.agenda,
        start_at=details.start_at,
        duration_minutes=details.duration_minutes,
        timezone=details.timezone,
        settings=dict(details.settings),
        occurrences=list(room.occurrences),
        exists=room.exists,
        purged=room.purged,
        status=_status(room),
        created_at=room.created_at,
        creation_source=room.creation_source,
        registrants=[
            RegistrantTruth(registrant_id=each.registrant_id, email=each.email, status=each.status)
            for each in room.registrants.values()
        ],
        instances=[of_run(run, as_of=as_of) for run in room.runs],
    )


def of_run(run: Run, *, as_of: datetime) -> RunTruth:
    """The truth about one run; connections that never got in are left out."""
    people: dict[str, list[Connection]] = {}
    for who in run.connections.values():
        if who.stays:
            people.setdefault(who.person.key, []).append(who)
    truths = [_person(connections, as_of=as_of) for connections in people.values()]
    return RunTruth(uuid=run.uuid, started_at=run.started_at, ended_at=run.ended_at, people=truths)


def union_seconds(stays: Iterable[Stay], *, as_of: datetime) -> int:
    """Length of the union of the stays."""
    total, covered_until = 0.0, None
    for stay in sorted(stays, key=lambda each: each.joined_at):
        left_at = stay.left_at or as_of
        begin = stay.joined_at if covered_until is None else max(stay.joined_at, covered_until)
        total += max(0.0, (left_at - begin).total_seconds())
        covered_until = left_at if covered_until is None else max(covered_until, left_at)
    return int(total)


def _person(connections: Sequence[Connection], *, as_of: datetime) -> PersonTruth:
    person = connections[0].person
    return PersonTruth(
        person=person.key,
        identity=person.identity,
        name=person.name,
        email=person.email,
        zoom_user_id=person.zoom_user_id,
        registrant_id=person.registrant_id,
        present=any(who.present for who in connections),
        seconds=union_seconds((stay for who in connections for stay in who.stays), as_of=as_of),
        connections=[_connection(who) for who in connections],
    )


def _connection(who: Connection) -> ConnectionTruth:
    return ConnectionTruth(
        user_id=who.user_id,
        parent_user_id=who.parent_user_id,
        breakout_room_uuid=who.breakout_room_uuid,
        stays=tuple(who.stays),
    )


def _status(room: Room) -> str:
    if not room.exists:
        return "deleted"
    return "started" if room.live is not None else "waiting"
