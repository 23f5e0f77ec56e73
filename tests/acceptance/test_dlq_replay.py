"""Dead letters go back into live streams and projectors, with newer state already there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from roomkeeper.embedded.process import LeashedProcess
from runtime.environment import environment_for_children
from runtime.kafka.producer import Outgoing, Producer
from runtime.postgres import connect
from runtime.settings import LogSettings, Settings
from runtime.topic_admin import TopicAdmin
from runtime.topics import MEETING_COMMANDS, ZOOM_EVENTS
from runtime.topics import load as load_topics
from schemas.codec import encode
from tests.dlq import dead_letter, rows_like, run_dlq
from tests.meeting_commands import ACCOUNT, Caller, report, room
from tests.rooms import U1, M, at, body, heard, person, updated
from tests.waiting import wait_for

READ_MODEL = ("commands", "meetings", "room_requests", "room_states", "run_states", "connections", "room_entries")


@dataclass(frozen=True, slots=True)
class Message:
    """A record as it was first produced."""

    topic: str
    key: bytes
    value: bytes


def _told(document: dict[str, Any]) -> Message:
    return Message(ZOOM_EVENTS, M.encode(), encode(heard(document, account=ACCOUNT)))


CALLER = Caller()
MEETING = CALLER.meeting_id.encode()
KEY = f"{CALLER.meeting_id}:create:1"
CREATE = Message(MEETING_COMMANDS, MEETING, encode(CALLER.create()))
OUTCOME = Message(MEETING_COMMANDS, MEETING, encode(report(CALLER.meeting_id, KEY, room=room(M))))
STARTED = _told(body("meeting.started", 0))
JOINED = _told(person("joined", 5, "16778250", user_name="Guest"))
OLD_TOPIC = _told(updated(10, topic="old"))
NEW_TOPIC = _told(updated(50, topic="new"))
ENDED = _told(body("meeting.ended", 600, end_time="2026-03-10T10:10:00Z"))


@pytest.fixture
def live(settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    """Stream workers and projectors, running as processes of their own."""
    update = {
        "kafka": settings.kafka.model_copy(update={"partitions": 2}),
        "streams": settings.streams.model_copy(update={"data_dir": tmp_path / "state"}),
        "log": LogSettings(format="json"),
    }
    own = settings.model_copy(update=update)
    admin = TopicAdmin(own.kafka)
    admin.apply(admin.plan(load_topics()))
    with ExitStack() as stack:
        for role in ("streams", "projectors"):
            output = stack.enter_context((tmp_path / f"{role}.log").open("wb"))
            command = [sys.executable, "-m", "roomkeeper", role, "run"]
            process = LeashedProcess(command, output=output, env=environment_for_children(own), grace_seconds=30.0)
            stack.callback(process.stop)
        yield own


def test_a_replay_is_safe_in_any_order_over_newer_state(live: Settings) -> None:
    """ZC57: once, again, backwards, in part, and of all that ever was: the state is that of an undisturbed day."""
    _produce(live, [CREATE, OUTCOME, NEW_TOPIC, ENDED])
    wait_for(lambda: _topic(live) == "new", what="the newer state", within_seconds=90.0)
    _keep(live, [STARTED, JOINED, OLD_TOPIC, CREATE], first=0)
    assert (run_dlq(live, "replay", "--job", "all").lines[-1]["sent"], _reached(live, "all")) == (4, 4)
    expected = _read_model(live)
    assert _facts(live) == ("ended", at(0), "new", 595, 1, M)
    assert run_dlq(live, "replay").lines[-1]["sent"] == 0
    everything = [CREATE, OUTCOME, STARTED, JOINED, OLD_TOPIC, NEW_TOPIC, ENDED]
    _keep(live, everything, first=100)
    letters = [each["letter_id"] for each in run_dlq(live, "list", "--limit", "0").lines]
    for number, letter in enumerate(reversed(letters)):
        run_dlq(live, "replay", "--id", letter, "--job", f"back-{number}")
    assert [_reached(live, f"back-{number}") for number in range(len(letters))] == [1] * len(everything)
    assert _read_model(live) == expected
    _keep(live, everything, first=200)
    run_dlq(live, "replay", "--job", "part", "--from-offset", "204", "--to-offset", "204")
    run_dlq(live, "replay", "--job", "rest")
    assert (_reached(live, "part"), _reached(live, "rest")) == (1, 6)
    assert _read_model(live) == expected


def test_what_still_cannot_be_read_comes_back_and_verify_says_so(live: Settings) -> None:
    """ZC52: bytes that no version reads: each replay ends as a return, one line of history more; the others go their way."""
    unknown = Message(ZOOM_EVENTS, M.encode(), b"\xc3\x01" + b"no schema of ours")
    poison = [Message(ZOOM_EVENTS, M.encode(), b"\xff\x00"), unknown, Message(MEETING_COMMANDS, MEETING, b"{bad")]
    _produce(live, [*poison, CREATE, STARTED])
    wait_for(lambda: rows_like(live, attempt=1) == 3, what="the dead letters", within_seconds=90.0)
    _keep(live, [JOINED], first=100)
    replayed = run_dlq(live, "replay", "--job", "try")
    verified = run_dlq(live, "verify", "try", "--wait", "60")
    counts = {name: sum(each[name] for each in verified.lines) for name in ("sent", "reached", "returned", "pending")}
    assert (replayed.lines[-1]["sent"], verified.code) == (4, 1)
    assert counts == {"sent": 4, "reached": 1, "returned": 3, "pending": 0}
    returned = run_dlq(live, "list").lines
    assert {(each["stage"], each["attempt"], each["failed_job"]) for each in returned} == {
        ("streams.rooms", 2, "try"),
        ("streams.meetings", 2, "try"),
    }


def _produce(settings: Settings, messages: Sequence[Message]) -> None:
    with Producer(settings.kafka, client_id="tests") as producer:
        for each in messages:
            producer.send(Outgoing(topic=settings.kafka.topic_prefix + each.topic, key=each.key, value=each.value))


def _keep(settings: Settings, messages: Sequence[Message], *, first: int) -> None:
    """Dead letters of these records, as if they had lain at offsets from `first` on; returns when the ledger has them."""
    before = rows_like(settings)
    stages = {MEETING_COMMANDS: "streams.meetings", ZOOM_EVENTS: "streams.rooms"}
    with Producer(settings.kafka, client_id="tests") as producer:
        for offset, each in enumerate(messages, start=first):
            stage = stages[each.topic]
            letter = dead_letter(settings, each.topic, key=each.key, value=each.value, offset=offset, stage=stage)
            producer.send(letter)
    wait_for(lambda: rows_like(settings) == before + len(messages), what="the ledger", within_seconds=60.0)


def _reached(settings: Settings, job: str) -> int:
    """How many messages of a job reached their read model; it fails when one did not."""
    verified = run_dlq(settings, "verify", job, "--wait", "60")
    assert verified.code == 0, verified.text
    return sum(each["reached"] for each in verified.lines)


def _read_model(settings: Settings) -> dict[str, list[dict[str, Any]]]:
    """Every row, without the coordinates of the record that last touched it."""
    with connect(settings.postgres, role="tests") as connection:
        found = {}
        for table in READ_MODEL:
            rows = connection.execute(f"SELECT to_jsonb(t) - 'revision' - 'generation' AS row FROM {table} AS t")
            found[table] = sorted((row["row"] for row in rows), key=str)
        return found


def _topic(settings: Settings) -> str | None:
    with connect(settings.postgres, role="tests") as connection:
        row = connection.execute("SELECT topic FROM rooms WHERE zoom_id = %s", (M,)).fetchone()
        ended = connection.execute("SELECT 1 FROM instances WHERE status = 'ended'").fetchone()
        ready = connection.execute("SELECT 1 FROM meetings WHERE room_status = 'ready'").fetchone()
        return row["topic"] if row and ended and ready else None


def _facts(settings: Settings) -> tuple[Any, ...]:
    """Status and start of the run, topic, the guest's seconds, how many meetings there are, and the room of the one."""
    with connect(settings.postgres, role="tests") as connection:
        run = connection.execute("SELECT status, started_at FROM instances").fetchall()
        seconds = connection.execute("SELECT seconds FROM attendance(%s, %s, %s)", (ACCOUNT, M, U1)).fetchall()
        meetings = connection.execute("SELECT zoom_id FROM meetings").fetchall()
        assert (len(run), len(seconds)) == (1, 1)
        places = (_topic(settings), seconds[0]["seconds"], len(meetings), meetings[0]["zoom_id"])
        return (run[0]["status"], run[0]["started_at"], *places)
