"""A lost read model comes back from the changelogs alone, and projecting goes on where the events had ended."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from projectors.meetings import MeetingsProjection
from projectors.rebuild import rebuild
from runtime.kafka.producer import Outgoing, Producer
from runtime.postgres import connect
from runtime.settings import Settings
from runtime.topic_admin import TopicAdmin
from runtime.topics import MEETING_EVENTS, MEETINGS_CHANGELOG
from runtime.topics import load as load_topics
from schemas.codec import encode
from schemas.records.meeting_events import MeetingEvent
from schemas.records.tables import Revised
from tests.meeting_commands import Caller, Table
from tests.projecting import running
from tests.stack import Stack
from tests.waiting import wait_for

MEETINGS = 40


@pytest.fixture
def ready(settings: Settings) -> Settings:
    """Settings with the topics of the projectors."""
    catalogue, admin = load_topics(), TopicAdmin(settings.kafka)
    admin.apply(admin.plan(catalogue, catalogue.used_by("projectors")))
    return settings


@pytest.fixture
def empty(ready: Settings, stack: Stack) -> Iterator[Settings]:
    """The same topics with another, empty database: what is left after the first was lost."""
    with stack.database(f"t{uuid.uuid4().hex[:10]}") as postgres:
        yield ready.model_copy(update={"postgres": postgres})


def fold(settings: Settings, first: int, count: int) -> None:
    """Meetings that are created and changed: their events and their changelog, as the streams would commit them."""
    with Producer(settings.kafka, client_id="tests") as producer:
        for number in range(first, first + count):
            table, caller = Table(), Caller(key=f"key-{number}")
            for event in (table.put(caller.create()), table.put(caller.change(topic=f"Topic {number}"))):
                producer.send_all(_records(settings, event))


def _records(settings: Settings, event: MeetingEvent) -> list[Outgoing]:
    prefix, key = settings.kafka.topic_prefix, event.meeting_id.encode()
    records = [Outgoing(topic=prefix + MEETING_EVENTS, key=key, value=encode(event))]
    for entry in (event.meeting, event.answer):
        if entry is not None:
            value = Revised(generation=event.generation, revision=event.revision, entry=encode(entry))
            records.append(Outgoing(topic=prefix + MEETINGS_CHANGELOG, key=key, value=encode(value)))
    return records


def rows(settings: Settings, table: str, *columns: str) -> Sequence[Mapping[str, Any]]:
    """The rows of a table, in a fixed order."""
    names = ", ".join(columns)
    with connect(settings.postgres, role="tests") as connection:
        return connection.execute(f"SELECT {names} FROM {table} ORDER BY {names}").fetchall()


def read_model(settings: Settings) -> Sequence[Any]:
    """What must come back the same: meetings, their work and their answers."""
    return [
        rows(settings, "meetings", "meeting_id", "version", "status", "topic", "state", "generation", "revision"),
        rows(settings, "room_requests", "provider_key", "meeting_id", "action", "n", "host"),
        rows(settings, "commands", "command_id", "meeting_id", "status", "version", "code"),
    ]


def ready_rows(settings: Settings) -> bool:
    """Whether every change has arrived."""
    found = rows(settings, "meetings", "version")
    return len(found) >= MEETINGS and all(row["version"] == 2 for row in found)


def test_the_changelog_alone_gives_the_rows_that_the_events_gave(ready: Settings, empty: Settings) -> None:
    """Meetings, work and answers are the same; the offsets stand where the events ended; later events follow."""
    fold(ready, 0, MEETINGS)
    with running(ready, MeetingsProjection()):
        wait_for(lambda: ready_rows(ready), what="the rows from the events")
    done = rebuild(MeetingsProjection(), empty, advance=lambda _count, _total: None)
    assert (done.entries, done.refused) == (4 * MEETINGS, ())
    assert read_model(empty) == read_model(ready)
    assert all(row["retried"] for row in rows(empty, "room_requests", "retried"))

    fold(ready, MEETINGS, 5)
    _go_on(ready, commands=2 * MEETINGS + 10)
    _go_on(empty, commands=2 * MEETINGS + 10)
    assert read_model(empty) == read_model(ready)


def _go_on(settings: Settings, *, commands: int) -> None:
    with running(settings, MeetingsProjection()):
        wait_for(lambda: len(rows(settings, "commands", "command_id")) >= commands, what="the new rows")


def test_a_rebuild_beside_a_live_projector_changes_nothing(ready: Settings) -> None:
    """Rows are guarded by their revisions: the changelog's older entries do not win over what is there."""
    fold(ready, 0, MEETINGS)
    with running(ready, MeetingsProjection()):
        wait_for(lambda: ready_rows(ready), what="the rows from the events")
        before = read_model(ready)
        for _ in range(2):
            rebuild(MeetingsProjection(), ready, advance=lambda _count, _total: None)
    assert read_model(ready) == before


def test_an_entry_that_cannot_be_read_leaves_the_offsets_alone(ready: Settings) -> None:
    """The others are written and it is named, but the events are read from the beginning, for they may have it still."""
    fold(ready, 0, 2)
    with Producer(ready.kafka, client_id="tests") as producer:
        topic = ready.kafka.topic_prefix + MEETINGS_CHANGELOG
        producer.send(Outgoing(topic=topic, key=b"key", value=b"\xff\x00"))
        producer.send(Outgoing(topic=topic, key=b"key", value=encode(Revised(generation=0, revision=1, entry=b"?"))))
    done = rebuild(MeetingsProjection(), ready, advance=lambda _count, _total: None)
    offsets = rows(ready, "projector_offsets", "next_offset")
    assert (next(each.consumed.value for each in done.refused), len(done.refused)) == (b"\xff\x00", 2)
    assert (len(rows(ready, "meetings", "meeting_id")), offsets) == (2, [])
