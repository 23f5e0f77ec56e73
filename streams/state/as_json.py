"""Entries as JSON: every field that is kept, and how a room reads from its entries now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any

from schemas.codec import decode
from schemas.records.meeting_events import CommandAnswer, MeetingState
from schemas.records.room_events import RoomEntry
from schemas.rooms.attendance import attendance
from schemas.rooms.connections import read_connection
from schemas.rooms.entry import Entry, decode_entry
from schemas.rooms.room import room_view
from schemas.rooms.runs import runs
from streams.rooms.fold import RoomsFold
from streams.state.inspect import Found, kept


def report(found: Sequence[Found], *, now: datetime) -> dict[str, Any]:
    """The entries, and how each room among them reads."""
    rooms: dict[str, list[bytes]] = defaultdict(list)
    for each in found:
        if each.table == RoomsFold.table:
            rooms["|".join(each.key.split("|")[:2])].append(each.entry)
    now_ms = round(now.timestamp() * 1000)
    return {
        "entries": [{**kept(each), "entry": entry_as_json(each.entry)} for each in found],
        "rooms": {key: room_as_json(entries, now_ms=now_ms) for key, entries in rooms.items()},
    }


def entry_as_json(entry: bytes) -> Any:
    """All fields of an entry."""
    record: object = decode(entry, MeetingState, CommandAnswer, RoomEntry)
    return _plain(record)


def room_as_json(entries: Iterable[bytes], *, now_ms: int) -> dict[str, Any]:
    """How the entries of one room read at this moment: existence, runs, and who attended each for how long."""
    decoded = [decode_entry(each) for each in entries]
    own = next((each for each in decoded if each.identity.kind == "room"), None)
    connections = [read_connection(each) for each in _of_kinds(decoded, "connection", "report")]
    shown = []
    for run in runs(_of_kinds(decoded, "instance"), connections):
        here = [each for each in connections if each.uuid == run.uuid]
        shown.append({"run": _plain(run), "attendance": [_plain(each) for each in attendance(run, here, now=now_ms)]})
    return {
        "room": _plain(room_view(own, [each for each in decoded if each is not own])),
        "runs": shown,
    }


def _of_kinds(entries: Sequence[Entry], *kinds: str) -> list[Entry]:
    return [each for each in entries if each.identity.kind in kinds]


def _plain(value: object) -> Any:
    """The value in JSON's terms; bytes that are a record become that record."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(each) for name, each in asdict(value).items()}
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
