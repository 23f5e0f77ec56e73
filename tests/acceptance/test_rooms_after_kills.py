"""From webhooks to rows by the product's own fold and projection, the stream worker killed on the way.

The webhooks come in any order, a third of them twice.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from projectors.rooms import RoomsProjection
from roomkeeper.embedded.process import LeashedProcess
from runtime.environment import environment_for_children
from runtime.kafka.producer import Outgoing, Producer
from runtime.postgres import Connection, connect
from runtime.randomness import seeded
from runtime.settings import LogSettings, Settings
from runtime.topic_admin import TopicAdmin
from runtime.topics import DEAD_LETTERS, ZOOM_EVENTS
from runtime.topics import load as load_topics
from schemas.codec import encode
from schemas.records.zoom_events import ZoomEvent
from simulator.histories import ACCOUNT_ID, History, history
from tests.histories import BEGINS_AT, Counted, events, shuffled, true
from tests.ingress import records
from tests.projecting import running
from tests.waiting import wait_for
from zoom.webhooks import record_key

ROOMS = 6


@pytest.fixture
def ready(settings: Settings) -> Settings:
    """Topics of two partitions, and transactions of few records."""
    kafka = settings.kafka.model_copy(update={"partitions": 2})
    streams = settings.streams.model_copy(update={"poll_records": 20, "transaction_events": 20, "instance_id": "one"})
    prepared = settings.model_copy(update={"kafka": kafka, "streams": streams, "log": LogSettings(format="json")})
    admin = TopicAdmin(kafka)
    admin.apply(admin.plan(load_topics()))
    return prepared


def test_the_read_model_after_kills_is_what_was_true(ready: Settings, tmp_path: Path) -> None:
    """Killed before a commit and, on another disk, after one: all runs and all attendance in SQL are the simulator's."""
    made = history(seeded(4), begins_at=BEGINS_AT, room_count=ROOMS)
    told = shuffled(events(made), seeded(4, "order"))
    produce(ready, told[: len(told) // 2])
    for disk, point in (("first", "before-commit:2"), ("second", "after-commit:2")):
        with worker(ready, tmp_path / disk, fail_point=point) as process:
            assert process.wait(90) == -signal.SIGKILL
    produce(ready, told[len(told) // 2 :])
    with worker(ready, tmp_path / "second"), running(ready, RoomsProjection()), reading(ready) as connection:
        wait_for(lambda: counted(connection, made) == true(made), what="what was true", within_seconds=120)
    assert records(ready, DEAD_LETTERS) == []


def produce(settings: Settings, told: list[ZoomEvent]) -> None:
    """Put events into `zoom-events`, as ingress does."""
    topic = settings.kafka.topic_prefix + ZOOM_EVENTS
    with Producer(settings.kafka, client_id="tests") as producer:
        producer.send_all([Outgoing(topic=topic, key=record_key(each).encode(), value=encode(each)) for each in told])


@contextmanager
def worker(settings: Settings, disk: Path, *, fail_point: str | None = None) -> Iterator[LeashedProcess]:
    """`roomkeeper streams run` on a disk while the context lasts."""
    streams = settings.streams.model_copy(update={"data_dir": disk, "fail_point": fail_point})
    environment = environment_for_children(settings.model_copy(update={"streams": streams}))
    with disk.with_suffix(".log").open("ab") as output:
        command = [sys.executable, "-m", "roomkeeper", "streams", "run"]
        process = LeashedProcess(command, output=output, env=environment, grace_seconds=30.0)
    try:
        yield process
    finally:
        process.stop()


@contextmanager
def reading(settings: Settings) -> Iterator[Connection]:
    """A connection to the read model."""
    with connect(settings.postgres, role="tests", autocommit=True) as connection:
        yield connection


def counted(connection: Connection, made: History) -> Counted:
    """What SQL says of every run."""
    runs = connection.execute("SELECT * FROM instances WHERE account_id = %s", (ACCOUNT_ID,)).fetchall()
    return {row["uuid"]: _run(connection, row, made) for row in runs}


def _run(connection: Connection, row: dict[str, Any], made: History) -> dict[str, Any]:
    query = "SELECT * FROM attendance(%s, %s, %s, %s)"
    people = connection.execute(query, (ACCOUNT_ID, row["zoom_id"], row["uuid"], made.ends_at)).fetchall()
    return {
        "started_at": _ms(row["started_at"]),
        "ended_at": _ms(row["ended_at"]),
        "people": sorted((each["person"], each["seconds"]) for each in people if each["identified_by"] != "connection"),
        "strangers": sorted(each["seconds"] for each in people if each["identified_by"] == "connection"),
    }


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)
