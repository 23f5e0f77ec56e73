"""Dead letters on a real broker and database: the ledger, and the way back by the command line."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from pydantic import SecretStr

from projectors.dead_letters import LedgerProjection
from projectors.projection import Consumed
from roomkeeper.cli import compose
from runtime.cipher import SEALED_HEADER, SEALED_WITH, Cipher, new_key
from runtime.environment import environment_of
from runtime.kafka.config import consumer_config
from runtime.kafka.producer import Outgoing, Producer
from runtime.postgres import connect
from runtime.settings import SecuritySettings, Settings
from runtime.topic_admin import TopicAdmin
from runtime.topics import DEAD_LETTERS, ROOM_EVENTS, ZOOM_EVENTS
from runtime.topics import load as load_topics
from schemas.codec import decode
from schemas.dead_letters import Origin, dead_letter_headers
from schemas.errors import BadMessage
from schemas.records.zoom_events import ZoomEvent
from tests.projecting import PARTITIONS, Running, Tally, prepare, produce, tally
from tests.waiting import wait_for

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


class Faulty(Tally):
    """A tally that cannot read some values yet; what is repaired can be read from then on."""

    def __init__(self) -> None:
        """Reads everything."""
        self.bad: set[bytes] = set()

    def decode(self, consumed: Consumed) -> int:
        """The number, unless it is one of the bad ones."""
        if consumed.value in self.bad:
            raise BadMessage("not yet understood")
        return super().decode(consumed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended."""

    code: int
    lines: Sequence[Mapping[str, Any]]
    text: str


Dlq = Callable[..., Ended]


@pytest.fixture
def ready(settings: Settings) -> Settings:
    """Settings with topics, a table for the tally, and a key for sealed bodies."""
    with_key = SecuritySettings(encryption_keys=(SecretStr(new_key()),))
    prepared = prepare(settings.model_copy(update={"security": with_key}))
    catalogue, admin = load_topics(), TopicAdmin(prepared.kafka)
    admin.apply(admin.plan(catalogue, catalogue.used_by("dlq")))
    return prepared


@pytest.fixture
def dlq(ready: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Dlq:
    """Runs `roomkeeper dlq ...` in this process and gives its exit code and output."""
    for name, value in environment_of(ready).items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        words = ["dlq", *arguments]
        code = compose(words)(words, prog_name="roomkeeper", standalone_mode=False)
        text = capsys.readouterr().out
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return Ended(code=code or 0, lines=lines, text=text)

    return run


@pytest.fixture
def faulty(ready: Settings) -> Iterator[Faulty]:
    """A tally and the ledger, running."""
    projection = Faulty()
    ledger = LedgerProjection(topic_prefix=ready.kafka.topic_prefix, held_after_returns=3)
    projector = Running(ready, [projection, ledger])
    yield projection
    projector.close()


def waiting(settings: Settings, **conditions: Any) -> int:
    """How many rows of the ledger have these values."""
    words = " AND ".join(f"{name} = %({name})s" for name in conditions) or "true"
    with connect(settings.postgres, role="tests") as connection:
        row = connection.execute(f"SELECT count(*) AS n FROM dead_letters WHERE {words}", conditions).fetchone()
        assert row is not None
        return int(row["n"])


def fail(settings: Settings, faulty: Faulty, values: Sequence[int]) -> None:
    """Make dead letters of these values, and wait until the ledger has them."""
    faulty.bad |= {str(each).encode() for each in values}
    before = waiting(settings)
    produce(settings, values)
    wait_for(lambda: waiting(settings) >= before + len(values), what="the dead letters")


def messages(settings: Settings, topic: str, *, at_least: int) -> list[Message]:
    """Everything on a topic."""
    consumer = Consumer(dict(consumer_config(settings.kafka, client_id="tests", group="tests")))
    found: list[Message] = []

    def read() -> bool:
        found.extend(consumer.consume(1_000, 0.5))
        return len(found) >= at_least

    try:
        consumer.assign([TopicPartition(settings.kafka.topic_prefix + topic, each, 0) for each in range(PARTITIONS)])
        wait_for(read, what="the messages")
    finally:
        consumer.close()
    return found


def test_repaired_messages_go_back_once_and_arrive(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """After the repair a replay brings every message to its rows; the next replay finds nothing; verify says so."""
    fail(ready, faulty, range(100, 130))
    faulty.bad.clear()
    first = dlq("replay", "--job", "friday")
    wait_for(lambda: len(tally(ready)) >= 30, what="the rows")
    again = dlq("replay")
    verified = dlq("verify", "friday", "--wait", "20")
    assert (first.code, first.lines[-1]["sent"], again.lines[-1]["sent"]) == (0, 30, 0)
    assert (verified.code, sum(each["reached"] for each in verified.lines)) == (0, 30)
    assert tally(ready) == list(range(100, 130))


def test_a_dead_letter_and_its_replay_keep_key_and_partition(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """What goes back lies under its key, beside the message that it was, with its failures in the headers."""
    fail(ready, faulty, range(100, 120))
    faulty.bad.clear()
    dlq("replay", "--job", "friday")
    places: dict[bytes | None, list[tuple[int | None, bytes | None, bool]]] = {}
    for message in messages(ready, ROOM_EVENTS, at_least=40):
        headers: Any = dict(message.headers() or ())
        places.setdefault(message.key(), []).append(
            (message.partition(), message.value(), headers.get("roomkeeper-dl-replay") == b"friday")
        )
    assert all(
        [each[2] for each in found] == [False, True] and found[0][:2] == found[1][:2] for found in places.values()
    )
    assert len(places) == 20


def test_a_message_that_fails_again_comes_back_with_its_history_and_is_held(
    ready: Settings, faulty: Faulty, dlq: Dlq
) -> None:
    """Each return raises the count in the one row there is; after three it is held, and goes only on request (ZC57)."""
    fail(ready, faulty, [7])
    for attempt in (2, 3, 4):
        assert dlq("replay", "--job", f"try-{attempt}").lines[-1]["sent"] == 1
        _wait_for_return(ready, attempt)
    held = dlq("replay")
    letter = dlq("list").lines[0]
    shown = dlq("show", letter["letter_id"], "--json").lines[0]
    verified = dlq("verify", "try-4", "--wait", "20")
    assert (held.lines[-1]["sent"], letter["status"], letter["attempt"], waiting(ready)) == (0, "held", 4, 1)
    assert [(each["attempt"], each["job"]) for each in shown["history"]] == [
        (1, None),
        (2, "try-2"),
        (3, "try-3"),
        (4, "try-4"),
    ]
    assert (verified.code, verified.lines[0]["returned"]) == (1, 1)
    faulty.bad.clear()
    assert dlq("replay", "--held").lines[-1]["sent"] == 1
    wait_for(lambda: tally(ready) == [7], what="the row")


def _wait_for_return(settings: Settings, attempt: int) -> None:
    wait_for(lambda: waiting(settings, attempt=attempt), what="the return")


def test_a_replay_keeps_the_original_order_of_a_partition(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """A message that came back lies behind others in the topic of dead letters, and still goes before those it preceded."""
    produce_in_order(ready, faulty, [b"1", b"2", b"3", b"4"])
    first = dlq("list", "--text", "not yet", "--limit", "0").lines[0]["letter_id"]
    dlq("replay", "--id", first)
    _wait_for_return(ready, 2)
    dlq("replay")
    sent = [message.value() for message in messages(ready, ROOM_EVENTS, at_least=9) if _is_replayed(message)]
    assert sent == [b"1", b"1", b"2", b"3", b"4"]


def _is_replayed(message: Message) -> bool:
    headers: Any = message.headers() or []
    return "roomkeeper-dl-replay" in dict(headers)


def produce_in_order(settings: Settings, faulty: Faulty, values: Sequence[bytes]) -> None:
    """Dead letters of one key, one after the other."""
    faulty.bad |= set(values)
    with Producer(settings.kafka, client_id="tests") as producer:
        for value in values:
            producer.send(Outgoing(topic=settings.kafka.topic_prefix + ROOM_EVENTS, key=b"one key", value=value))
    wait_for(lambda: waiting(settings) == len(values), what="the dead letters")


def test_a_replay_does_not_chase_what_comes_back(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """Messages that return while a slow replay runs are not taken by it again."""
    fail(ready, faulty, range(100, 140))
    ended = dlq("replay", "--rate", "40", "--job", "slow")
    wait_for(lambda: waiting(ready, attempt=2) == 40, what="the returns")
    assert ended.lines[-1]["sent"] == 40
    assert waiting(ready, attempt=3) == 0


def test_two_replays_at_once_do_not_double(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """Of two replays that start together each message goes with one."""
    fail(ready, faulty, range(100, 160))
    faulty.bad.clear()
    codes: list[int | None] = []

    def replay(name: str) -> None:
        words = ["dlq", "replay", "--job", name, "--rate", "100"]
        codes.append(compose(words)(words, prog_name="roomkeeper", standalone_mode=False))

    threads = [threading.Thread(target=replay, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    jobs = {each["job"]: each["sent"] for each in dlq("jobs").lines}
    wait_for(lambda: len(tally(ready)) >= 60, what="the rows")
    assert (sum(jobs.values()), len(codes)) == (60, 2)
    assert tally(ready) == list(range(100, 160))


def test_a_limited_replay_goes_on_under_its_name(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """The same job takes the rest later, and says when nothing is left; other filters under its name are refused."""
    fail(ready, faulty, range(100, 110))
    faulty.bad.clear()
    sent = [dlq("replay", "--job", "steps", "--limit", "4").lines[-1]["sent"] for _ in range(4)]
    with pytest.raises(Exception, match="exists with other filters"):
        dlq("replay", "--job", "steps", "--stage", "ingress")
    assert sent == [4, 4, 2, 0]
    wait_for(lambda: tally(ready) == list(range(100, 110)), what="the rows")


def test_a_cancelled_replay_stops_and_can_go_on(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """Cancel ends a running job after its batch; what it had not sent still waits, until the job is taken up again."""
    fail(ready, faulty, range(100, 160))
    faulty.bad.clear()
    words = ["dlq", "replay", "--job", "long", "--rate", "8"]
    thread = threading.Thread(target=lambda: compose(words)(words, prog_name="roomkeeper", standalone_mode=False))
    thread.start()
    wait_for(lambda: waiting(ready, status="replayed"), what="the first messages")
    dlq("cancel", "long")
    thread.join()
    left = waiting(ready, status="open")
    assert 0 < left < 60
    assert dlq("replay", "--job", "long").lines[-1]["sent"] == left
    wait_for(lambda: tally(ready) == list(range(100, 160)), what="the rows")


def test_a_dry_run_says_what_would_go_where_and_sends_nothing(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """Topic and key of each message that matches, and not a message more on any topic."""
    fail(ready, faulty, range(100, 105))
    lines = dlq("replay", "--dry-run", "--key", "103").lines
    assert [(each["topic"], each["key"], each["refused"]) for each in lines] == [(ROOM_EVENTS, "103", None)]
    assert (waiting(ready, status="open"), len(messages(ready, ROOM_EVENTS, at_least=5))) == (5, 5)


def test_filters_choose_and_the_text_is_searched(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """By key, stage, error, text and time; what a filter does not name it does not mind."""
    fail(ready, faulty, range(100, 104))
    counts = {
        words: len(dlq("list", *words).lines)
        for words in (
            ("--key", "101"),
            ("--stage", "projectors.tally"),
            ("--stage", "ingress"),
            ("--error", "BadMessage"),
            ("--text", "NOT YET"),
            ("--text", "nothing"),
            ("--since", "1h"),
            ("--until", "1h"),
            ("--status", "discarded"),
        )
    }
    assert list(counts.values()) == [1, 4, 0, 4, 4, 0, 4, 0, 0]


def test_discarding_is_noted_and_final(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """A discarded message is not replayed; who gave it up, and why, is in the ledger and the audit."""
    fail(ready, faulty, [1, 2])
    dlq("discard", "--key", "1", "--reason", "a test", "--actor", "ann")
    faulty.bad.clear()
    dlq("replay")
    wait_for(lambda: tally(ready), what="the other's row")
    with connect(ready.postgres, role="tests") as connection:
        audit = connection.execute("SELECT actor, reason FROM audit WHERE verb = 'dlq.discard'").fetchall()
    assert (audit, tally(ready)) == ([{"actor": "ann", "reason": "a test"}], [2])


def test_an_edited_message_goes_in_place_of_the_original(
    ready: Settings, faulty: Faulty, dlq: Dlq, tmp_path: Path
) -> None:
    """The original stays in the topic; the replay sends the corrected bytes, and the diff was shown."""
    fail(ready, faulty, [5])
    corrected = tmp_path / "value"
    corrected.write_bytes(b"55")
    letter_id = dlq("list").lines[0]["letter_id"]
    edited = dlq("edit", letter_id, "--value-file", str(corrected), "--yes", "--reason", "a typing error")
    dlq("replay")
    wait_for(lambda: tally(ready) == [55], what="the corrected row")
    assert "-5" in edited.text
    assert "+55" in edited.text
    assert [message.value() for message in messages(ready, DEAD_LETTERS, at_least=1)] == [b"5"]


def test_many_are_not_changed_without_a_yes(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """Above the set number a command without `--yes` and without anybody to ask does nothing and exits 5."""
    fail(ready, faulty, range(1_000, 1_101))
    refused = dlq("discard", "--reason", "a test")
    assert (refused.code, waiting(ready, status="open")) == (5, 101)
    assert dlq("replay", "--yes").lines[-1]["sent"] == 101


def test_what_is_exported_can_be_imported_and_is_known_once(
    ready: Settings, faulty: Faulty, dlq: Dlq, tmp_path: Path
) -> None:
    """A file holds the messages whole; imported, each is the dead letter that it was, with its value as it is there."""
    fail(ready, faulty, [1, 2, 3])
    file = tmp_path / "letters.jsonl"
    dlq("export", "--output", str(file))
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert sorted(line["content"] for line in lines) == [1, 2, 3]
    lines[0]["content"] = 77
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    dlq("import", str(file))
    faulty.bad.clear()
    wait_for(lambda: _newest_copies(ready) >= 6, what="the ledger at the imported copies")
    assert waiting(ready) == 3
    dlq("replay")
    expected = sorted([77, *(line["content"] for line in lines[1:])])
    wait_for(lambda: tally(ready) == expected, what="the rows, one of them corrected")


def _newest_copies(settings: Settings) -> int:
    with connect(settings.postgres, role="tests") as connection:
        row = connection.execute(
            "SELECT coalesce(sum(next_offset), 0) AS n FROM projector_offsets WHERE projection = 'dead_letters'"
        ).fetchone()
        assert row is not None
        return int(row["n"])


def test_a_sealed_body_goes_back_through_the_parser(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """A body that ingress could not read is opened, parsed and sent as the event it is, once it can be read."""
    run = {"id": 91_000_000_001, "uuid": "u/1=="}
    started = {
        "event": "meeting.started",
        "event_ts": 1_773_136_800_000,
        "payload": {"account_id": "acc", "object": run},
    }
    _keep_sealed(ready, {json.dumps(started).encode(), b"not JSON at all"})
    wait_for(lambda: waiting(ready, sealed=True) == 2, what="the ledger")
    ended = dlq("replay", "--job", "bodies")
    [message] = messages(ready, ZOOM_EVENTS, at_least=1)
    event = decode(message.value(), ZoomEvent)
    assert (ended.lines[-1]["sent"], message.key(), event.name) == (2, b"91000000001", "meeting.started")
    wait_for(lambda: waiting(ready, attempt=2), what="the return of the other")
    assert (waiting(ready), waiting(ready, status="open", attempt=2)) == (2, 1)


def _keep_sealed(settings: Settings, bodies: set[bytes]) -> None:
    cipher = Cipher(settings.security.encryption_keys)
    topic = settings.kafka.topic_prefix + ZOOM_EVENTS
    with Producer(settings.kafka, client_id="tests") as producer:
        for at, body in enumerate(sorted(bodies)):
            headers = dead_letter_headers(
                origin=Origin(topic=topic, partition=-1, offset=-1, timestamp_ms=1_773_136_800_000),
                stage="ingress",
                error=BadMessage("cannot be read"),
                failed_at=NOON + timedelta(seconds=at),
                previous=[(SEALED_HEADER, SEALED_WITH), ("roomkeeper-account", b"acc")],
            )
            letters = settings.kafka.topic_prefix + DEAD_LETTERS
            producer.send(Outgoing(topic=letters, key=b"account:acc", value=cipher.seal(body), headers=headers))


def test_the_same_failure_seen_twice_is_one_row(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """After a crash a record may be dead-lettered twice: the ledger has one row, and one replay sends one message."""
    fail(ready, faulty, [9])
    [letter] = messages(ready, DEAD_LETTERS, at_least=1)
    headers: Any = letter.headers() or []
    with Producer(ready.kafka, client_id="tests") as producer:
        topic = ready.kafka.topic_prefix + DEAD_LETTERS
        producer.send(Outgoing(topic=topic, key=letter.key(), value=letter.value(), headers=headers))
    wait_for(lambda: _newest_copies(ready) >= 2, what="the ledger at the second copy")
    faulty.bad.clear()
    assert (waiting(ready), dlq("replay").lines[-1]["sent"]) == (1, 1)
