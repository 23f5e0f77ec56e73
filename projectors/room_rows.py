"""From entries of the rooms table to rows: each row is a pure function of one entry at one revision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from schemas.rooms.connections import read_connection, shown_connection
from schemas.rooms.entry import Entry
from schemas.rooms.room import gone_since, is_deleted, room_details, stated_at
from schemas.rooms.runs import start_of
from schemas.rooms.stays import Stay
from zoom.times import epoch_ms, moment

Row = tuple[Any, ...]
NEVER = -1
"""Generation and revision of a row that holds nothing but proofs."""

_RUN_APART = frozenset({"started_at", "ended_at"})


class Version(NamedTuple):
    """An entry at its revision."""

    entry: Entry
    generation: int
    revision: int


def room_row(version: Version) -> Row:
    """A row of `room_states`, but for what other entries prove."""
    entry = version.entry
    details = room_details(entry)
    maxima = entry.maxima
    duration = details.get("duration")
    return (
        *_keys(version),
        entry.text("topic") or None,
        entry.text("host_id") or None,
        _time(epoch_ms(details.get("start_time"))),
        duration if isinstance(duration, int) and 0 <= duration < 2**31 else None,
        _json(details),
        entry.text("existence") or None,
        _time(stated_at(entry)),
        "permanently_deleted" in maxima,
        _time(gone_since(entry)),
        _time(maxima.get("dates_listed")),
        maxima.get("wanted_get", NEVER) > maxima.get("got", NEVER),
        version.generation,
        version.revision,
    )


def run_row(version: Version) -> Row:
    """A row of `run_states`, but for what its participants prove."""
    entry = version.entry
    start = start_of(entry)
    end = entry.registers.get("ended_at")
    shown = {name: value for name, (_, value) in entry.registers.items() if name not in _RUN_APART}
    for name in ("alerts", "recording"):
        if name in entry.points:
            shown[name] = [{"at": moment(ms).isoformat(), "what": what} for ms, what in entry.points[name]]
    return (
        *_keys(version),
        _json(shown),
        "started" in entry.maxima,
        "ended" in entry.maxima,
        None if start is None else start[0],
        None if start is None else _time(start[1]),
        None if end is None else _time(end[1]),
        end is not None and end[0].startswith("0"),
        version.generation,
        version.revision,
    )


def connection_row(version: Version) -> Row:
    """A row of `connections`, from an entry of kind `connection` or `report`."""
    account_id, zoom_id, *_ = _keys(version)
    connection = read_connection(version.entry)
    identifiers = connection.identifiers
    return (
        account_id,
        zoom_id,
        connection.uuid,
        connection.user_id,
        _json(shown_connection(version.entry)),
        connection.is_report,
        connection.name,
        identifiers.get("registrant_id"),
        identifiers.get("user"),
        identifiers.get("customer_key"),
        identifiers.get("email"),
        list(connection.links),
        _json([_stay(stay) for stay in connection.stays]),
        list(connection.orphan_leaves),
        connection.in_lobby,
        version.generation,
        version.revision,
    )


def other_row(version: Version) -> Row:
    """A row of `room_entries`: a date of a series, a registrant, a recording, or a fact nobody knows."""
    entry = version.entry
    identity = entry.identity
    shown = {name: value for name, (_, value) in entry.registers.items() if name != "existence"}
    if identity.kind == "occurrence":
        shown["occurrence_id"] = identity.parts[0]
    gone = "permanently_deleted" in entry.maxima or is_deleted(entry, proof=entry.maxima.get("proof", NEVER))
    return (
        identity.account_id,
        identity.zoom_id,
        identity.kind,
        "|".join(identity.parts),
        _json(shown),
        gone,
        _time(entry.maxima.get("proof")),
        version.generation,
        version.revision,
    )


WRITERS: Mapping[str, tuple[str, Callable[[Version], Row]]] = {
    "room": ("room_states", room_row),
    "instance": ("run_states", run_row),
    "connection": ("connections", connection_row),
    "report": ("connections", connection_row),
    "occurrence": ("room_entries", other_row),
    "registrant": ("room_entries", other_row),
    "recording": ("room_entries", other_row),
    "fact": ("room_entries", other_row),
}
"""By kind of entry the table, and what makes its row."""


def room_proofs(entries: Iterable[Entry]) -> list[Row]:
    """For each room when any of these entries was last heard of, and last proved that it exists."""
    proofs: dict[tuple[str, str], tuple[int, int]] = {}
    for entry in entries:
        identity = entry.identity
        if not identity.zoom_id.startswith("account:"):
            key = (identity.account_id, identity.zoom_id)
            proof = NEVER if identity.kind == "occurrence" else entry.maxima.get("proof", NEVER)
            seen, proven = proofs.get(key, (NEVER, NEVER))
            proofs[key] = max(seen, entry.maxima.get("heard", NEVER)), max(proven, proof)
    return [(*key, _time(seen), _time(proven)) for key, (seen, proven) in sorted(proofs.items())]


def run_proofs(entries: Iterable[Entry]) -> list[Row]:
    """For each run whether any of these connections proves that it started, and when at the earliest."""
    proofs: dict[tuple[str, str, str], tuple[bool, int | None]] = {}
    for entry in entries:
        identity = entry.identity
        if identity.kind in {"connection", "report"} and identity.parts:
            key = (identity.account_id, identity.zoom_id, identity.parts[0])
            witnessed, start = proofs.get(key, (False, None))
            told = entry.value("run_started_at")
            earliest = told if start is None else start if told is None else min(start, told)
            proofs[key] = witnessed or "started" in entry.maxima, earliest
    return [(*key, witnessed, _time(start)) for key, (witnessed, start) in sorted(proofs.items())]


def _keys(version: Version) -> tuple[str, ...]:
    identity = version.entry.identity
    return identity.account_id, identity.zoom_id, *identity.parts[:1]


def _stay(stay: Stay) -> list[Any]:
    return [stay.joined, stay.left, stay.breakout_room, stay.reported]


def _time(ms: int | None) -> datetime | None:
    return None if ms is None or ms < 0 else moment(ms)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
