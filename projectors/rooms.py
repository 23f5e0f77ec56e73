"""The projection of `room-events`: rooms, runs, connections and what else belongs to rooms.

Guarantees: a row is written when its revision is at least the stored one. What entries prove of their room and run
(last heard of, known to exist, started) only rises, so it is joined without a guard, and a row may begin with it.
Everything can be made again from the changelog of the rooms table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, LiteralString, NamedTuple

from psycopg import Cursor

from projectors.projection import Consumed, Decoded
from projectors.room_rows import WRITERS, Row, Version, room_proofs, run_proofs
from projectors.room_states import version_kept, version_told
from runtime.queries import queries
from runtime.topics import ROOM_EVENTS, ROOMS_CHANGELOG
from schemas.errors import BadMessage, DecodeError
from schemas.records.tables import Revised


class Told(NamedTuple):
    """An entry as a record tells it, and its row."""

    version: Version
    table: str
    row: Row

    @property
    def order(self) -> tuple[int, int]:
        """The greatest is the newest."""
        return self.version.generation, self.version.revision


class RoomsProjection:
    """Writes rooms, runs, connections and their like; implements `Rebuildable`."""

    name = "rooms"
    topic = ROOM_EVENTS
    changelog = ROOMS_CHANGELOG

    def decode(self, consumed: Consumed) -> Told:
        """What the event in these bytes tells.

        Raises:
            BadMessage: it cannot be read, or is about a kind of entry that nobody knows.
        """
        kind, version = version_told(consumed.value)
        if kind not in WRITERS:
            raise BadMessage(f"kind: there are no entries of kind {kind}: written by a newer version?")
        return _told(version)

    def apply(self, cursor: Cursor[Any], batch: Sequence[Decoded[Told]]) -> None:
        """Write the entries after these events, of each key the newest.

        Raises:
            BadMessage: an entry proves what no entry can.
        """
        _write(cursor, [each.record for each in batch])

    def restore(self, cursor: Cursor[Any], batch: Sequence[Decoded[Revised]]) -> None:
        """Write the rows of these entries under their own revisions.

        Raises:
            BadMessage: an entry cannot be read.
        """
        _write(cursor, [_told(version_kept(each.record)) for each in batch])


def _told(version: Version) -> Told:
    try:
        table, row_of = WRITERS[version.entry.identity.kind]
        return Told(version, table, row_of(version))
    except _NO_ENTRY as error:
        raise DecodeError(f"an entry holds what no entry does: {type(error).__name__} {error}") from error


def _write(cursor: Cursor[Any], batch: Sequence[Told]) -> None:
    newest: dict[str, Told] = {}
    for told in batch:
        known = newest.setdefault(told.version.entry.key, told)
        if known is not told and known.order <= told.order:
            newest[told.version.entry.key] = told
    tables: dict[str, list[Row]] = defaultdict(list)
    written = [newest[key] for key in sorted(newest)]
    for told in written:
        tables[told.table].append(told.row)
    entries = [told.version.entry for told in written]
    try:
        tables["room_proofs"] = room_proofs(entries)
        tables["run_proofs"] = run_proofs(entries)
    except _NO_ENTRY as error:
        raise DecodeError(f"an entry proves what no entry does: {type(error).__name__} {error}") from error
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


_NO_ENTRY = (ValueError, KeyError, TypeError, AttributeError, OverflowError)
"""What comes of JSON of another shape than any entry has."""
