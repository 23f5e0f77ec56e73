"""Making a projection's rows anew from the changelog of its table alone.

In this order: note where the event topic ends, write every entry of the changelog, then let the projection go on from
those ends. An event before its end is committed together with its changelog record, so nothing can fall between. Rows
are guarded by their revisions, so this may run beside live projectors, and again after it was cut short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Message

from projectors.engine.isolation import write_separately
from projectors.engine.offsets import Offsets
from projectors.engine.slices import Refused
from projectors.projection import Consumed, Decoded, Rebuildable
from runtime.kafka.ends import Range
from runtime.kafka.reader import Reader
from runtime.postgres import Connection, connect, translated
from runtime.settings import Settings
from runtime.topics import physical
from schemas.codec import decode
from schemas.errors import BadMessage
from schemas.records.tables import Revised

Advance = Callable[[int, int], None]
"""Told how many records are done, and of how many offsets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What a rebuild did."""

    projection: str
    entries: int
    refused: tuple[Refused, ...]
    """Entries that could not be written. While there are any, the offsets stay where they were."""


def rebuild(projection: Rebuildable[Any], settings: Settings, *, advance: Advance) -> Rebuilt:
    """Write the projection's rows from its changelog and move its offsets to where the events ended before.

    Raises:
        Unavailable: the broker or the database is away; run it again.
        Misconfigured: a topic or table is missing.
    """
    prefix = settings.kafka.topic_prefix
    events = physical(projection.topic, prefix=prefix)
    with Reader(settings.kafka, topic=events) as reader:
        ends = reader.ranges()
    with (
        Reader(settings.kafka, topic=physical(projection.changelog, prefix=prefix)) as changelog,
        connect(settings.postgres, role="projectors") as connection,
    ):
        ranges = changelog.ranges()
        total = sum(each.end - each.first for each in ranges)
        entries, refused = 0, []
        for messages in changelog.read(ranges, batch_records=settings.projectors.batch_records):
            written, bad = _restore(projection, connection, messages)
            entries += written
            refused += bad
            advance(len(messages), total)
        if not refused:
            _move(connection, Offsets(projection=projection.name, topic=events), ends)
    return Rebuilt(projection=projection.name, entries=entries, refused=tuple(refused))


def _restore(
    projection: Rebuildable[Any], connection: Connection, messages: Sequence[Message]
) -> tuple[int, list[Refused]]:
    batch, unreadable = _decode(projection.changelog, messages)
    if not batch:
        return 0, unreadable
    with translated(f"rebuild {projection.name}"), connection.transaction(), connection.cursor() as cursor:

        def write(part: Sequence[Decoded[Revised]]) -> None:
            with connection.transaction():  # a savepoint
                projection.restore(cursor, part)

        written, refused = write_separately(batch, write)
    return len(written), unreadable + refused


def _decode(topic: str, messages: Sequence[Message]) -> tuple[list[Decoded[Revised]], list[Refused]]:
    decoded, unreadable = [], []
    for message in messages:
        value = message.value()
        if value is None:
            continue  # an entry that is gone; nothing deletes one today
        consumed = Consumed(
            topic=topic,
            partition=message.partition() or 0,
            offset=message.offset() or 0,
            timestamp_ms=message.timestamp()[1],
            key=message.key(),
            value=value,
        )
        try:
            decoded.append(Decoded(record=decode(value, Revised), consumed=consumed))
        except BadMessage as error:
            unreadable.append(Refused(consumed=consumed, error=error))
    return decoded, unreadable


def _move(connection: Connection, offsets: Offsets, ends: Sequence[Range]) -> None:
    """Let the projection go on from these ends, unless it is further already."""
    with (
        translated("move the offsets of a rebuilt projection"),
        connection.transaction(),
        connection.cursor() as cursor,
    ):
        offsets.read(cursor, [each.partition for each in ends])
        offsets.advance(cursor, {each.partition: each.end for each in ends})
