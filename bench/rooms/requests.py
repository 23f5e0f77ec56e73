"""Meetings that want a room, decided and projected as the stream and the projector would: rows of work for a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from projectors.meetings import MeetingsProjection
from projectors.projection import Consumed, Decoded
from runtime.postgres import Connection
from schemas.ids import AccountId
from schemas.records.meeting_events import MeetingEvent
from tests.meeting_commands import Caller, Table

ACCOUNT = "acct-bench"
_HOSTS = 200
_BATCH = 500
_START = {"start_time": "2031-03-20T09:00:00Z", "timezone": "UTC"}


def created(count: int, *, first: int = 0) -> Iterator[MeetingEvent]:
    """The events of so many creates."""
    for number in range(first, first + count):
        caller = Caller(key=f"bench-{number}", account=AccountId(ACCOUNT))
        yield Table().put(caller.create(host=f"host-{number % _HOSTS:03d}@example.com", **_START))


def project(connection: Connection, events: Iterable[MeetingEvent]) -> None:
    """Write the events, a transaction for each batch."""
    projection = MeetingsProjection()
    remaining = iter(events)
    while batch := list(islice(remaining, _BATCH)):
        project_batch(connection, projection, batch)


def project_batch(connection: Connection, projection: MeetingsProjection, events: Sequence[MeetingEvent]) -> None:
    """Write the events in one transaction."""
    nowhere = Consumed(topic="meeting-events", partition=0, offset=0, timestamp_ms=0, key=None, value=None)
    decoded = [Decoded(record=event, consumed=nowhere) for event in events]
    with connection.transaction(), connection.cursor() as cursor:
        projection.apply(cursor, decoded)
