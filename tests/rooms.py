"""Rooms in memory: bodies as Zoom sends them, folded through the real bytes, read by the real views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from projectors.projection import Consumed, Decoded
from projectors.rooms import RoomsProjection, Told
from schemas.codec import decode, encode
from schemas.records.room_events import RoomEvent
from schemas.records.zoom_events import ZoomEvent
from schemas.rooms.attendance import Attendance, attendance
from schemas.rooms.connections import Connection, read_connection
from schemas.rooms.entry import Entry, entry_key
from schemas.rooms.room import RoomView, room_view
from schemas.rooms.runs import Run, runs
from streams.fold import Input
from streams.rooms.fold import RoomsFold
from tests.orders import orders
from zoom.observations import Asked, observation
from zoom.webhooks import parse, record_key

ACCOUNT = "acctTEST0000000000001"
M = "91000000001"
U1 = "yxHS0ETsPhnsro6ktl/n/w=="
U2 = "Zuvfi2xILwl9UNY9MXGcvw=="
U3 = "abcfi2xILwl9UNY9MXGcvw=="
HOST = "hostAAAAAAAAAAAAAAAA1"
GUEST: dict[str, Any] = {"email": "guest.one@example.com", "registrant_id": "reg-1"}
START = datetime(2026, 3, 10, 10, tzinfo=UTC)
FOLD = RoomsFold()


def decoded(events: Iterable[RoomEvent]) -> list[Decoded[Told]]:
    """A batch as the projection of rooms gets it: through bytes."""
    records = [
        Consumed(topic="room-events", partition=0, offset=0, timestamp_ms=0, key=None, value=encode(event))
        for event in events
    ]
    return [Decoded(record=RoomsProjection().decode(each), consumed=each) for each in records]


def at(seconds: float) -> datetime:
    """So many seconds after the start of the stories."""
    return START + timedelta(seconds=seconds)


def ms(seconds: float) -> int:
    """The same in milliseconds since the epoch."""
    return round(at(seconds).timestamp() * 1000)


def iso(seconds: float) -> str:
    """The same as Zoom writes it."""
    return at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def body(
    name: str, seconds: float | None, payload: Mapping[str, Any] | None = None, /, **subject: Any
) -> dict[str, Any]:
    """A webhook's body about room `M`, run `U1`, unless `subject` says otherwise; None drops a field."""
    whole = {
        "id": M,
        "uuid": U1,
        "host_id": HOST,
        "topic": "Planning call",
        "type": 2,
        "start_time": iso(0),
        "timezone": "UTC",
        "duration": 60,
        **subject,
    }
    document: dict[str, Any] = {
        "event": name,
        "payload": {
            "account_id": ACCOUNT,
            "object": {field: value for field, value in whole.items() if value is not None},
            **(payload or {}),
        },
    }
    if seconds is not None:
        document["event_ts"] = ms(seconds)
    return document


def person(
    name: str,
    seconds: float,
    user_id: str,
    /,
    *,
    time: str | None = None,
    uuid: str = U1,
    start: float = 0,
    room: str | None = None,
    **who: Any,
) -> dict[str, Any]:
    """A body `meeting.participant_<name>` of one connection, at its own time unless `time` says otherwise."""
    field = (
        "join_time"
        if name.startswith("joined") and "waiting" not in name
        else "leave_time"
        if name in LEAVES
        else "date_time"
    )
    participant = {
        "user_id": user_id,
        "user_name": "Guest",
        "id": "",
        "email": "",
        field: iso(seconds) if time is None else time,
        **who,
    }
    where = {} if room is None else {"breakout_room_uuid": room}
    return body(
        f"meeting.participant_{name}", seconds, uuid=uuid, start_time=iso(start), participant=participant, **where
    )


LEAVES = ("left", "left_breakout_room")


def updated(
    seconds: float, scope: str = "single", old: Mapping[str, Any] | None = None, /, **changes: Any
) -> dict[str, Any]:
    """A body `meeting.updated` with only what changed."""
    nothing: dict[str, Any] = dict.fromkeys(("uuid", "host_id", "topic", "type", "start_time", "timezone", "duration"))
    payload = {"scope": scope, "time_stamp": ms(seconds), "old_object": {"id": int(M), **(old or {})}}
    return body("meeting.updated", seconds, payload, **{**nothing, "id": int(M), **changes})


def heard(
    document: Mapping[str, Any], *, received: float = 864_000, account: str = ACCOUNT, source: str = "webhook"
) -> ZoomEvent:
    """The event in a body, received so many seconds after the start."""
    return parse(orjson.dumps(document), account_id=account, request_id="r1", received_at=at(received), source=source)


def observed(
    kind: Any,
    seconds: float,
    answer: Mapping[str, Any] | None = None,
    /,
    *,
    uuid: str | None = None,
    status: int = 200,
    code: int | None = None,
    every_occurrence: bool = False,
) -> ZoomEvent:
    """An observation of room `M` whose request was sent so many seconds after the start."""
    asked = Asked(
        sent_at=at(seconds), elapsed_seconds=0.2, status=status, code=code, lists_every_occurrence=every_occurrence
    )
    return observation(
        kind, account_id=ACCOUNT, zoom_id=M, uuid=uuid, asked=asked, answer=answer or {}, received_at=at(seconds + 1)
    )


Heard = ZoomEvent | Mapping[str, Any]


def record(event: Heard, offset: int = 0) -> Input:
    """The event as a record of `zoom-events`; a body is parsed first."""
    known = event if isinstance(event, ZoomEvent) else heard(event)
    return Input(
        topic="zoom-events", partition=0, offset=offset, timestamp_ms=0, key=record_key(known), value=encode(known)
    )


class Rooms:
    """The rooms table, in memory."""

    def __init__(self, events: Iterable[Heard] = ()) -> None:
        """With these events folded, in this order."""
        self.entries: dict[str, Entry] = {}
        self.outputs: list[RoomEvent] = []
        self.outcomes: list[str] = []
        self._offset = 0
        self.hear(*events)

    def hear(self, *events: Heard) -> list[RoomEvent]:
        """Fold these events; what came of the last one."""
        answers: list[RoomEvent] = []
        for event in events:
            folded = FOLD.fold(record(event, self._offset), self.entries.get, generation=0)
            self._offset += 1
            self.entries.update(folded.entries)
            answers = [decode(output.value, RoomEvent) for output in folded.outputs]
            self.outputs += answers
            self.outcomes.append(folded.outcome)
        return answers

    def state(self) -> dict[str, bytes]:
        """Every entry's bytes."""
        return {key: entry.encode() for key, entry in sorted(self.entries.items())}

    def of_kind(self, *kinds: str, room: str = M) -> list[Entry]:
        """The entries of a room that are of these kinds."""
        found = (entry for entry in self.entries.values() if entry.identity.zoom_id == room)
        return [entry for entry in found if entry.identity.kind in kinds]

    def room_entry(self, room: str = M) -> Entry | None:
        """The room's own entry."""
        return self.entries.get(entry_key(ACCOUNT, room))

    def view(self, room: str = M) -> RoomView:
        """The room as it is read."""
        own = self.room_entry(room)
        return room_view(own, [entry for entry in self.of_kind(*KINDS, room=room) if entry is not own])

    def connections(self, uuid: str | None = None, room: str = M) -> list[Connection]:
        """The connections of a run, or of all runs."""
        found = [read_connection(entry) for entry in self.of_kind("connection", "report", room=room)]
        return [each for each in found if uuid is None or each.uuid == uuid]

    def runs(self, room: str = M) -> dict[str, Run]:
        """The runs by uuid."""
        return {run.uuid: run for run in runs(self.of_kind("instance", room=room), self.connections(room=room))}

    def attendance(self, uuid: str = U1, *, now: float = 864_000) -> list[Attendance]:
        """Who attended a run, as of so many seconds after the start."""
        return attendance(self.runs()[uuid], self.connections(uuid), now=ms(now))

    def seconds(self, uuid: str = U1, *, now: float = 864_000) -> dict[str, int]:
        """Seconds of each person by their identifier's value."""
        return {each.person[1]: each.seconds for each in self.attendance(uuid, now=now)}


KINDS: Sequence[str] = ("room", "instance", "connection", "report", "occurrence", "registrant", "recording", "fact")


def settles(events: Sequence[Heard], check: Callable[[Rooms], None]) -> None:
    """However the events arrive, the state is the same, and it passes the check."""
    wanted = Rooms(events).state()
    for order in orders(events):
        rooms = Rooms(order)
        assert rooms.state() == wanted
        check(rooms)


def nothing(_: str) -> Entry | None:
    """An empty table."""
    return None


def folded(event: Any) -> Any:
    """What the fold makes of one event in an empty table."""
    return FOLD.fold(record(event), nothing, generation=0)
