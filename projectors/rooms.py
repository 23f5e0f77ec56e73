"""The projection of `room-events`: rooms, runs, connections and what else belongs to rooms.

Guarantees: a row is written when its revision is at least the stored one. What entries prove of their room and run
(last heard of, known to exist, started) only rises, so it is joined without a guard, and a row may begin with it.
Everything can be made again from the changelog of the rooms table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, LiteralString

from psycopg import Cursor

from projectors.projection import Consumed, Decoded
from projectors.room_rows import WRITERS, Row, Version, room_proofs, run_proofs
from runtime.queries import queries
from runtime.topics import ROOM_EVENTS, ROOMS_CHANGELOG
from schemas.codec import decode
from schemas.errors import BadMessage, DecodeError
from schemas.records.room_events import RoomEvent
from schemas.records.tables import Revised
from schemas.rooms.entry import decode_entry


class RoomsProjection:
    """Writes rooms, runs, connections and their like; implements `Rebuildable`."""

    name = "rooms"
    topic = ROOM_EVENTS
    changelog = ROOMS_CHANGELOG

    def decode(self, consumed: Consumed) -> RoomEvent:
        """The event in these bytes.

        Raises:
            BadMessage: it cannot be read, or is about a kind of entry that nobody knows.
        """
        event = decode(consumed.value, RoomEvent)
        if event.kind not in WRITERS:
            raise BadMessage(f"kind: there are no entries of kind {event.kind}: written by a newer version?")
        return event

    def apply(self, cursor: Cursor[Any], batch: Sequence[Decoded[RoomEvent]]) -> None:
        """Write the entries after these events, of each key the newest.

        Raises:
            BadMessage: an entry cannot be read.
        """
        newest: dict[str, RoomEvent] = {}
        for each in batch:
            event = each.record
            known = newest.get(event.entry_key)
            if known is None or (known.generation, known.revision) <= (event.generation, event.revision):
                newest[event.entry_key] = event
        _write(cursor, [_version(newest[key]) for key in sorted(newest)])

    def restore(self, cursor: Cursor[Any], batch: Sequence[Decoded[Revised]]) -> None:
        """Write the rows of these entries under their own revisions.

        Raises:
            BadMessage: an entry cannot be read.
        """
        newest: dict[str, Version] = {}
        for each in batch:
            version = _version(each.record)
            key = version.entry.key
            known = newest.get(key)
            if known is None or (known.generation, known.revision) <= (version.generation, version.revision):
                newest[key] = version
        _write(cursor, [newest[key] for key in sorted(newest)])


def _version(record: RoomEvent | Revised) -> Version:
    return Version(entry=decode_entry(record.entry), generation=record.generation, revision=record.revision)


def _write(cursor: Cursor[Any], versions: Sequence[Version]) -> None:
    tables: dict[str, list[Row]] = defaultdict(list)
    try:
        for version in versions:
            table, row_of = WRITERS[version.entry.identity.kind]
            tables[table].append(row_of(version))
        entries = [version.entry for version in versions]
        tables["room_proofs"] = room_proofs(entries)
        tables["run_proofs"] = run_proofs(entries)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DecodeError(f"an entry holds what no entry does: {type(error).__name__} {error}") from error
    for table in sorted(tables):
        if tables[table]:
            _upsert(cursor, table, tables[table])


def _upsert(cursor: Cursor[Any], table: str, rows: Iterable[Row]) -> None:
    """COPY into a table of the transaction's own, then upsert from there: one statement whatever the number of rows."""
    named = queries("projectors")
    cursor.execute(_query(named, "stage", table))
    with cursor.copy(_query(named, "copy", table)) as copy:
        for row in rows:
            copy.write_row(row)
    cursor.execute(_query(named, "upsert", table))


def _query(named: Any, verb: str, table: str) -> LiteralString:
    query: LiteralString = named[f"{verb}_{table}"]
    return query
