"""The way from `meeting-commands` to PostgreSQL in one thread: the real fold and the real projection, without their engines.

For tests of ingress, which has to see commands decided and rooms made, and does not care by which process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from confluent_kafka import Consumer, TopicPartition

from projectors.meetings import MeetingsProjection
from projectors.projection import Consumed, Decoded
from runtime.kafka.config import consumer_config
from runtime.postgres import connect
from runtime.settings import Settings
from runtime.topics import MEETING_COMMANDS, MEETING_EVENTS, physical
from schemas.codec import decode
from schemas.records.meeting_events import MeetingEvent, MeetingState, RegistrantState
from streams.meetings.answering import AnyCommand
from streams.meetings.fold import COMMANDS, meeting_key
from tests.meeting_commands import Table, registered, report, room

_NOWHERE = Consumed(topic=MEETING_EVENTS, partition=0, offset=0, timestamp_ms=0, key=None, value=b"")


@dataclass(slots=True, kw_only=True)
class Decider:
    """Decides commands as they come; with `makes_rooms` it also reports all room work as done."""

    settings: Settings
    makes_rooms: bool = False
    table: Table = field(default_factory=Table)
    events: list[MeetingEvent] = field(default_factory=list)

    def decide(self, command: AnyCommand) -> None:
        """Decide and project one command, and the reports that follow."""
        event = self.table.put(command)
        self.events.append(event)
        with connect(self.settings.postgres, role="tests") as connection, connection.cursor() as cursor:
            MeetingsProjection().apply(cursor, [Decoded(record=event, consumed=_NOWHERE)])
        if self.makes_rooms and event.meeting is not None:
            for number, work in enumerate(event.meeting.pending):
                found = room(provider_key=work.provider_key, host=work.host) if work.action == "create" else None
                done = report(event.meeting_id, work.provider_key, epoch=len(self.events) + number, room=found)
                zoom_id = work.zoom_id or done.zoom_id
                self.decide(replace(done, account_id=event.account_id, zoom_id=zoom_id))
        if self.makes_rooms and event.registrant is not None and event.registrant.pending:
            self._register(event.registrant)

    def _register(self, person: RegistrantState) -> None:
        """Report the person's oldest work as done: registered at once, or left to the host."""
        meeting = self.table.entries[meeting_key(person.account_id, person.meeting_id)]
        assert isinstance(meeting, MeetingState)
        waits = person.pending[0].action == "register" and meeting.details.settings.approval_type == 1
        done = registered(
            person,
            epoch=len(self.events),
            zoom_id=meeting.room.zoom_id if meeting.room else None,
            registrant_id=f"zoom-{person.registrant_key[:8]}",
            join_url=None if waits else f"https://example.com/w/{person.registrant_key}",
            status="pending" if waits else "approved",
        )
        self.decide(done)

    def work(self, stop: threading.Event) -> None:
        """Decide whatever comes until `stop` is set."""
        name = physical(MEETING_COMMANDS, prefix=self.settings.kafka.topic_prefix)
        quick = {**consumer_config(self.settings.kafka, client_id="decider", group="decider"), "fetch.wait.max.ms": 20}
        consumer = Consumer(dict(quick))
        try:
            partitions = consumer.list_topics(name, timeout=10).topics[name].partitions
            consumer.assign([TopicPartition(name, each, 0) for each in partitions])
            while not stop.is_set():
                message = consumer.poll(0.1)
                if message is not None and message.error() is None:
                    self.decide(decode(message.value(), *COMMANDS))
        finally:
            consumer.close()


@contextmanager
def deciding(settings: Settings, *, makes_rooms: bool = False) -> Iterator[Decider]:
    """A decider at work while the context lasts."""
    decider = Decider(settings=settings, makes_rooms=makes_rooms)
    stop = threading.Event()
    thread = threading.Thread(target=decider.work, args=(stop,), name="decider")
    thread.start()
    try:
        yield decider
    finally:
        stop.set()
        thread.join(timeout=30)
