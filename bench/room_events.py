"""Webhooks of rooms by the hundred thousand, through the product's own parser: what `zoom-events` would hold.

The same arguments give the same records. Bodies are as Zoom writes them, about 800 bytes each.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from runtime.randomness import seeded
from schemas.codec import encode
from zoom.webhooks.events import parse, record_key

ACCOUNT = "AcctBench0000000000001"
BEGINS_AT = datetime(2026, 3, 2, 15, 0, tzinfo=UTC)

_FIRST_ROOM = 91_000_000_000
_FIRST_USER = 16_778_240
_LATE_SHARE = 0.1
_LATEST_RECORDS = 200
_ROLES = ("attendee", "co-host", "host")

Record = tuple[bytes, bytes]
"""Key and value."""


def mixed(*, events: int, rooms: int, seed: int = 1) -> Iterator[Record]:
    """Rooms that start, people who join and leave; rooms take turns, and one record in ten comes late."""
    random = seeded(seed, "mixed")
    late: list[tuple[int, Record]] = []
    for number in range(events):
        record = _of_turn(number, rooms=rooms)
        if random.random() < _LATE_SHARE:
            late.append((number + random.randrange(_LATEST_RECORDS), record))
        else:
            yield record
        while late and late[0][0] <= number:
            yield late.pop(0)[1]
    yield from (record for _, record in late)


def joined(*, room: int, person: int, second: int) -> Record:
    """A participant's first join of a run."""
    return _record("meeting.participant_joined", room=room, person=person, second=second, time_field="join_time")


def left(*, room: int, person: int, second: int) -> Record:
    """The same participant's leave."""
    return _record("meeting.participant_left", room=room, person=person, second=second, time_field="leave_time")


def role_changed(*, room: int, person: int, second: int) -> Record:
    """Changes registers of a connection, and nothing that grows."""
    change = {"old_role": _ROLES[second % 3], "new_role": _ROLES[(second + 1) % 3]}
    name = "meeting.participant_role_changed"
    return _record(name, room=room, person=person, second=second, time_field="date_time", **change)


def started(*, room: int, second: int = 0) -> Record:
    """A room's run begins."""
    return _record("meeting.started", room=room, person=None, second=second)


def webhook(
    name: str, *, room: int, person: int | None, at: datetime, time_field: str = "", **more: str
) -> dict[str, Any]:
    """A body; `time_field` is the participant's field that says when."""
    run: dict[str, Any] = {
        "uuid": run_uuid(room),
        "id": meeting_number(room),
        "type": 2,
        "topic": f"Weekly planning \u2013 team {room}",
        "host_id": "HostBench0000000000001",
        "duration": 45,
        "start_time": _text(BEGINS_AT),
        "timezone": "Europe/London",
    }
    if person is not None:
        run["participant"] = _participant(person) | {time_field: _text(at)} | more
    event_ts = round(at.timestamp() * 1000)
    return {"payload": {"account_id": ACCOUNT, "object": run}, "event_ts": event_ts, "event": name}


def meeting_number(room: int) -> str:
    """Zoom's number of a room."""
    return str(_FIRST_ROOM + room)


def run_uuid(room: int) -> str:
    """The one run of a room."""
    return f"1P2rbp0oCNjcjq{room:08d}=="


def user_id(person: int) -> str:
    """A person's connection within a run."""
    return str(_FIRST_USER + person)


def _of_turn(number: int, *, rooms: int) -> Record:
    """What a room hears in its turn: its start, then joins and leaves of one person after another."""
    room, turn = number % rooms, number // rooms
    if turn == 0:
        return started(room=room)
    person, leaves = divmod(turn - 1, 2)
    return (left if leaves else joined)(room=room, person=person, second=turn)


def _participant(person: int) -> dict[str, str]:
    return {
        "user_id": user_id(person),
        "user_name": f"Guest {person}",
        "id": "",
        "participant_user_id": "",
        "participant_uuid": f"22222222-BBBB-4BBB-8BBB-{person:012d}",
        "email": "",
        "registrant_id": "",
    }


def _record(name: str, *, room: int, person: int | None, second: int, time_field: str = "", **more: str) -> Record:
    at = BEGINS_AT + timedelta(seconds=second)
    body = orjson.dumps(webhook(name, room=room, person=person, at=at, time_field=time_field, **more))
    received_at = at + timedelta(seconds=1)
    event = parse(body, account_id=ACCOUNT, request_id=f"{room:08d}-{second}", received_at=received_at)
    return record_key(event).encode(), encode(event)


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
