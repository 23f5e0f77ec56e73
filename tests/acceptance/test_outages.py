"""Database and broker go away under load, one after the other: what cannot be done waits, and nothing is a dead letter (ZC52).

Each is away for five seconds here, some holds and retries long; `make outages` takes the minute.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event
from typing import TextIO

import pytest

from roomkeeper.embedded.backing import Server
from roomkeeper.local.process_group import ProcessGroup, Program
from runtime.environment import environment_for_children
from runtime.kafka.producer import Outgoing, Producer
from runtime.kafka.reader import Reader
from runtime.postgres import connect
from runtime.settings import LogSettings, Settings
from runtime.topic_admin import TopicAdmin
from runtime.topics import DEAD_LETTERS, MEETING_COMMANDS, ZOOM_EVENTS
from runtime.topics import load as load_topics
from schemas.codec import encode
from schemas.errors import Unavailable
from tests.meeting_commands import ACCOUNT, Caller
from tests.rooms import body, heard
from tests.stack import Stack
from tests.waiting import wait_for

OUTAGE_SECONDS = float(os.environ.get("OUTAGE_SECONDS", "5"))
PAUSE_SECONDS = 0.05
"""Between two pairs of messages: about forty a second."""
DONE_WITHIN_SECONDS = 180.0


@pytest.fixture
def roles(private_stack: Stack, tmp_path: Path) -> Iterator[Settings]:
    """Streams and projectors as processes that are started again, on a broker and a database that may be broken."""
    with private_stack.corner() as given:
        update = {
            "kafka": given.kafka.model_copy(update={"partitions": 2}),
            "streams": given.streams.model_copy(update={"data_dir": tmp_path / "state"}),
            "log": LogSettings(format="json"),
        }
        own = given.model_copy(update=update)
        admin = TopicAdmin(own.kafka)
        admin.apply(admin.plan(load_topics()))
        with (
            (tmp_path / "processes.log").open("w", encoding="utf-8") as log,
            ProcessGroup(partial(_note, log)) as group,
        ):
            for role in ("streams", "projectors"):
                command = (sys.executable, "-m", "roomkeeper", role, "run")
                group.start(Program(name=role, command=command, env=environment_for_children(own)))
            yield own


@pytest.mark.parametrize("which", ["database", "broker"])
def test_an_outage_under_load_fills_no_dead_letters(roles: Settings, private_stack: Stack, which: str) -> None:
    """Everything sent before, during and after is in the read model, and nothing in `dead-letters`."""
    server: Server | None = getattr(private_stack.backing, which)
    assert server is not None
    with load_of(roles) as load:
        before = wait_for(lambda: at_least(roles, 20), what="the first rows", within_seconds=DONE_WITHIN_SECONDS)
        server.kill()
        Event().wait(OUTAGE_SECONDS)  # how long it is away is what the test is about
        server.start()
        wait_for(lambda: at_least(roles, before + 1), what="rows after it", within_seconds=DONE_WITHIN_SECONDS)
    sent = load.result()
    wait_for(lambda: written(roles) == 2 * sent, what=f"{sent} meetings and rooms", within_seconds=DONE_WITHIN_SECONDS)
    assert dead_letters(roles) == []


@contextmanager
def load_of(settings: Settings) -> Iterator[Future[int]]:
    """Commands and webhooks, steadily while the context lasts; then the future says how many of each."""
    stop = Event()
    with ThreadPoolExecutor(1) as executor:
        sending = executor.submit(_send, settings, stop)
        try:
            yield sending
        finally:
            stop.set()


def _send(settings: Settings, stop: Event) -> int:
    prefix = settings.kafka.topic_prefix
    with Producer(settings.kafka, client_id="tests", timeout_seconds=5.0) as producer:
        for number in count():
            if stop.wait(PAUSE_SECONDS):
                return number
            caller, zoom_id = Caller(key=f"meeting-{number}"), str(92_000_000_000 + number)
            started = heard(body("meeting.started", 0, id=zoom_id, uuid=f"run-{number}=="), account=ACCOUNT)
            _until_taken(
                producer,
                Outgoing(
                    topic=prefix + MEETING_COMMANDS, key=caller.meeting_id.encode(), value=encode(caller.create())
                ),
                Outgoing(topic=prefix + ZOOM_EVENTS, key=zoom_id.encode(), value=encode(started)),
            )
    raise AssertionError("the count goes on for ever")


def _until_taken(producer: Producer, *records: Outgoing) -> None:
    """As callers and Zoom do: what was not acknowledged is sent again."""
    while True:
        try:
            producer.send_all(list(records))
        except Unavailable:
            continue
        return


def written(settings: Settings) -> int:
    """How many meetings and rooms the read model has."""
    query = "SELECT (SELECT count(*) FROM meetings) + (SELECT count(*) FROM room_states) AS n"
    with connect(settings.postgres, role="tests") as connection:
        row = connection.execute(query).fetchone()
        assert row is not None
        return int(row["n"])


def at_least(settings: Settings, wanted: int) -> int:
    """The same, once there are so many."""
    found = written(settings)
    return found if found >= wanted else 0


def dead_letters(settings: Settings) -> list[bytes | None]:
    """The values of all that lie in `dead-letters`."""
    with Reader(settings.kafka, topic=settings.kafka.topic_prefix + DEAD_LETTERS) as reader:
        return [each.value() for batch in reader.read(reader.ranges(), batch_records=100) for each in batch]


def _note(log: TextIO, name: str, line: str) -> None:
    log.write(f"{name:>10} | {line}\n")
    log.flush()
