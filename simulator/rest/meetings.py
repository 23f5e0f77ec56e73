"""Meetings: create, read, change, delete, end or recover, list."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from simulator import answers, refusals, rooms, runs
from simulator.faults import Kind
from simulator.model import INSTANT, Account, Host, Room
from simulator.pages import page
from simulator.rest.calls import Answer, Call
from simulator.wire import Json

_UNEXPIRED = timedelta(days=30)


def create(call: Call) -> Answer:
    """POST /users/{host}/meetings."""
    world = call.service.world
    host = world.host(call.account, call.values["host"])
    body = _coerced(call, call.body)
    if any(fault.kind is Kind.PERSONAL for fault in call.faults):
        body = {**body, "settings": {**(body.get("settings") or {}), "use_pmi": True}}
    room = rooms.create(world, account=call.account, host=host, body=body, at=call.now)
    for fault in call.faults:
        if fault.kind is Kind.UNLISTED:
            room.listed_at = call.now + timedelta(seconds=fault.seconds)
    return Answer(status=201, body=answers.whole_room(room))


def get(call: Call) -> Answer:
    """GET /meetings/{meeting}."""
    room = call.service.world.room(call.account, call.values["meeting"])
    occurrence_id = call.query.get("occurrence_id")
    if occurrence_id and occurrence_id not in {each.occurrence_id for each in room.occurrences}:
        raise refusals.no_such_occurrence()
    return Answer(status=200, body=answers.whole_room(room))


def update(call: Call) -> Answer:
    """PATCH /meetings/{meeting}: an empty 204, whatever was really taken."""
    world = call.service.world
    room = world.room(call.account, call.values["meeting"])
    body = _coerced(call, _without_ignored(call, call.body))
    rooms.change(world, room, body=body, at=call.now, occurrence_id=call.query.get("occurrence_id"))
    return Answer(status=204)


def delete(call: Call) -> Answer:
    """DELETE /meetings/{meeting}."""
    world = call.service.world
    if call.account.hosts and _is_personal(call.account, call.values["meeting"]):
        raise refusals.personal_room()
    room = world.room(call.account, call.values["meeting"])
    rooms.delete(world, room, at=call.now, occurrence_id=call.query.get("occurrence_id"))
    return Answer(status=204)


def status(call: Call) -> Answer:
    """PUT /meetings/{meeting}/status: end a running meeting, or recover a deleted one."""
    world, action = call.service.world, call.body.get("action")
    if action == "recover":
        room = world.find_room(call.values["meeting"])
        if room is None or room.account is not call.account:
            raise refusals.no_such_meeting(call.values["meeting"])
        rooms.recover(world, room, at=call.now)
    elif action == "end":
        runs.end(world, world.room(call.account, call.values["meeting"]), at=call.now)
    else:
        raise refusals.invalid_fields("action")
    return Answer(status=204)


def listing(call: Call) -> Answer:
    """GET /users/{host}/meetings."""
    host = call.service.world.host(call.account, call.values["host"])
    kind = call.query.get("type") or "scheduled"
    if kind not in _TYPES:
        raise refusals.invalid_fields("type")
    found = [room for room in _listed(call, host) if _TYPES[kind](room, call.now) and _within(room, call)]
    return _page(call, found)


def upcoming(call: Call) -> Answer:
    """GET /users/{host}/upcoming_meetings: the next 24 hours."""
    host = call.service.world.host(call.account, call.values["host"])
    until = call.now + timedelta(hours=24)
    found = [room for room in _listed(call, host) if call.now <= (_next_start(room) or until) < until]
    return _page(call, found)


def _listed(call: Call, host: Host) -> list[Room]:
    found = [
        room
        for room in call.service.world.rooms_of(host)
        if room.exists
        and room.details.type != INSTANT
        and (room.listed_at is None or room.listed_at <= call.now)
        and (_next_start(room) or call.now) > call.now - _UNEXPIRED
    ]
    return sorted(found, key=lambda room: (_next_start(room) or room.created_at, room.number))


def _page(call: Call, found: list[Room]) -> Answer:
    one = page(found, query=call.query, now=call.now)
    head: Json = {"page_size": one.size, "total_records": one.total, "next_page_token": one.next_token}
    return Answer(status=200, body=head | {"meetings": [answers.listed_room(room) for room in one.items]})


def _next_start(room: Room) -> datetime | None:
    if room.occurrences:
        return max(each.start_at for each in room.occurrences)
    return room.details.start_at


def _is_live(room: Room, _now: datetime) -> bool:
    return room.live is not None


def _is_coming(room: Room, now: datetime) -> bool:
    start_at = _next_start(room)
    return start_at is None or start_at >= now


def _is_past(room: Room, now: datetime) -> bool:
    return not _is_coming(room, now) and room.live is None


_TYPES: dict[str, Callable[[Room, datetime], bool]] = {
    "scheduled": lambda _room, _now: True,
    "live": _is_live,
    "upcoming": lambda room, now: _is_coming(room, now) or _is_live(room, now),
    "upcoming_meetings": _is_coming,
    "previous_meetings": _is_past,
}


def _within(room: Room, call: Call) -> bool:
    start_at = _next_start(room)
    if start_at is None:
        return True
    day, since, until = start_at.date().isoformat(), call.query.get("from"), call.query.get("to")
    return (not since or since[:10] <= day) and (not until or day <= until[:10])


def _is_personal(account: Account, meeting: str) -> bool:
    return any(str(host.pmi) == meeting for host in account.hosts.values())


def _without_ignored(call: Call, body: Json) -> Json:
    ignored = {name for fault in call.faults if fault.kind is Kind.IGNORE for name in fault.fields}
    kept: dict[str, Any] = {key: value for key, value in body.items() if key not in ignored}
    if isinstance(kept.get("settings"), dict):
        settings = kept["settings"]
        kept["settings"] = {key: value for key, value in settings.items() if f"settings.{key}" not in ignored}
    return kept


def _coerced(call: Call, body: Json) -> Json:
    for fault in call.faults:
        if fault.kind is Kind.COERCE:
            settings = {**(body.get("settings") or {}), **(fault.values.get("settings") or {})}
            body = {**body, **fault.values, **({"settings": settings} if settings else {})}
    return body
