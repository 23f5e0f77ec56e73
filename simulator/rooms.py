"""What can be done to a room: create, change, delete, recover, purge.

Each function changes the world, tells the app by an event, and raises a `Refusal` where Zoom would refuse.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from simulator import recurrence, refusals, wishes
from simulator.identifiers import Identifiers
from simulator.model import INSTANT, RECURRING_FIXED, Account, Details, Host, Occurrence, Room
from simulator.payloads import meetings as told
from simulator.wire import Json, millis, second_text
from simulator.world import World

RECOVERABLE = timedelta(days=7)


def create(world: World, *, account: Account, host: Host, body: Json, at: datetime, source: str = "open_api") -> Room:
    """A new room of the host's."""
    details = wishes.new_details(body, defined_fields=account.tracking_fields, password=world.ids.digits(6), now=at)
    if details.type == INSTANT and body.get("schedule_for"):
        raise refusals.cannot_access("Instant meetings do not support the schedule_for field.")
    number = world.ids.meeting_number()
    room = Room(
        number=number,
        account=account,
        host=host,
        uuid=world.ids.uuid(),
        details=details,
        created_at=at,
        creation_source=source,
        secrets=_secrets(world.ids, number),
        occurrences=_dates(details),
        personal=bool(details.settings.get("use_pmi")),
    )
    world.keep(room)
    if details.type != INSTANT:
        world.emit(room, told.created(room, world.shapes, at=at), at=at)
    return room


def change(world: World, room: Room, *, body: Json, at: datetime, occurrence_id: str | None = None) -> None:
    """New details; only what really changed is told."""
    if occurrence_id is not None:
        _move_date(world, room, body=body, occurrence_id=occurrence_id, at=at)
        return
    before = _rendered(room)
    details = wishes.changed_details(room.details, body, defined_fields=room.account.tracking_fields, now=at)
    if {"recurrence", "start_time"} & body.keys():
        room.occurrences = _dates(details)
    room.details = details
    _tell_changes(world, room, before, at=at)


def delete(world: World, room: Room, *, at: datetime, occurrence_id: str | None = None) -> None:
    """The whole room goes, or one date of its series."""
    if occurrence_id is not None:
        gone = _occurrence(room, occurrence_id)
        room.occurrences = _with(room, gone, replace(gone, status="deleted"))
        world.emit(room, told.ending("meeting.deleted", room, world.shapes, at=at, gone=[gone]), at=at)
        return
    if room.live is not None:
        raise refusals.in_progress()
    room.deleted_at = at
    world.emit(room, told.ending("meeting.deleted", room, world.shapes, at=at), at=at)


def recover(world: World, room: Room, *, at: datetime) -> None:
    """A room deleted within the last week comes back, with its number and links."""
    if room.deleted_at is None or room.purged or at - room.deleted_at > RECOVERABLE:
        raise refusals.no_such_meeting(room.number)
    room.deleted_at = None
    world.emit(room, told.ending("meeting.recovered", room, world.shapes, at=at), at=at)


def purge(world: World, room: Room, *, at: datetime) -> None:
    """A deleted room goes for good."""
    if room.deleted_at is None or room.purged:
        raise refusals.no_such_meeting(room.number)
    room.purged = True
    world.emit(room, told.ending("meeting.permanently_deleted", room, world.shapes, at=at), at=at)


def _tell_changes(world: World, room: Room, before: Json, *, at: datetime) -> None:
    after = _rendered(room)
    keys = [key for key in after if key != "settings" and after[key] != before[key]]
    new, old = {key: after[key] for key in keys}, {key: before[key] for key in keys}
    leaves = after["settings"].keys() | before["settings"].keys()
    moved = sorted(leaf for leaf in leaves if after["settings"].get(leaf) != before["settings"].get(leaf))
    if moved:
        new["settings"] = {leaf: after["settings"].get(leaf) for leaf in moved}
        old["settings"] = {leaf: before["settings"].get(leaf) for leaf in moved}
    if new:
        scope = None if world.shapes.live() else "all"
        world.emit(room, told.updated(room, new=new, old=old, at=at, scope=scope), at=at)


def _move_date(world: World, room: Room, *, body: Json, occurrence_id: str, at: datetime) -> None:
    old = _occurrence(room, occurrence_id)
    wish = wishes.changed_details(
        replace(room.details, start_at=old.start_at, duration_minutes=old.duration_minutes),
        body,
        defined_fields=room.account.tracking_fields,
        now=at,
    )
    start_at = wish.start_at or old.start_at
    # A moved date gets a new id; a date that only changes its length keeps it.
    new_id = occurrence_id if start_at == old.start_at else str(millis(start_at))
    new = Occurrence(occurrence_id=new_id, start_at=start_at, duration_minutes=wish.duration_minutes)
    room.occurrences = _with(room, old, new)
    event = told.updated(room, new=_one_date(room, new), old=_one_date(room, old), at=at, scope="single")
    world.emit(room, event, at=at)


def _occurrence(room: Room, occurrence_id: str) -> Occurrence:
    for each in room.occurrences:
        if each.occurrence_id == occurrence_id and each.status == "available":
            return each
    raise refusals.no_such_occurrence()


def _with(room: Room, old: Occurrence, new: Occurrence) -> tuple[Occurrence, ...]:
    return tuple(new if each is old else each for each in room.occurrences)


def _one_date(room: Room, date: Occurrence) -> Json:
    short = {"occurrence_id": date.occurrence_id, "start_time": second_text(date.start_at)}
    return {"type": room.details.type, "occurrences": [short | {"duration": date.duration_minutes}]}


def _dates(details: Details) -> tuple[Occurrence, ...]:
    if details.type != RECURRING_FIXED or details.start_at is None:
        return ()
    return recurrence.occurrences(
        details.recurrence or {},
        start_at=details.start_at,
        timezone=details.timezone,
        duration_minutes=details.duration_minutes,
    )


def _rendered(room: Room) -> dict[str, Any]:
    details = room.details
    whole = {
        "topic": details.topic,
        "type": details.type,
        "start_time": second_text(details.start_at) if details.start_at else "",
        "duration": details.duration_minutes,
        "timezone": details.timezone,
        "agenda": details.agenda,
        "password": details.password,
        "settings": dict(details.settings),
        "tracking_fields": told.tracking_field_list(room),
    }
    if room.occurrences:
        whole |= {"recurrence": dict(details.recurrence or {}), "occurrences": told.occurrence_list(room.occurrences)}
    return whole


def _secrets(ids: Identifiers, number: int) -> dict[str, str]:
    return {
        "start_url": f"https://zoom.example.com/s/{number}?zak=ZAK.{ids.opaque(32)}",
        "join_url": f"https://zoom.example.com/j/{number}?pwd={ids.opaque(24)}.1",
        "h323_password": ids.digits(6),
        "pstn_password": ids.digits(6),
        "encrypted_password": f"{ids.opaque(24)}.1",
    }
