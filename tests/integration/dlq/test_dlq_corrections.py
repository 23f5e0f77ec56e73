"""Dead letters on a real broker and database: chosen, corrected, given up, taken out and in."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from runtime.cipher import SEALED_HEADER, SEALED_WITH, Cipher
from runtime.environment import environment_for_children
from runtime.kafka.producer import Outgoing, Producer
from runtime.postgres import connect
from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS, ROOM_EVENTS, ZOOM_EVENTS
from schemas.codec import decode
from schemas.dead_letters import Origin, dead_letter_headers
from schemas.errors import BadMessage
from schemas.records.zoom_events import ZoomEvent
from tests.dlq import NOON, Dlq, Faulty, dead_letter, fail, ledger_read, messages, rows_like
from tests.projecting import tally
from tests.waiting import wait_for


def test_a_dry_run_says_what_would_go_where_and_sends_nothing(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """Topic and key of each message that matches, and not a message more on any topic."""
    fail(ready, faulty, range(100, 105))
    lines = dlq("replay", "--dry-run", "--key", "103").lines
    [original] = [each.partition() for each in messages(ready, ROOM_EVENTS, at_least=5) if each.value() == b"103"]
    told = [(each["topic"], each["partition"], each["key"], each["refused"]) for each in lines]
    assert told == [(ROOM_EVENTS, original, "103", None)]
    assert (rows_like(ready, status="open"), len(messages(ready, ROOM_EVENTS, at_least=5))) == (5, 5)


def test_stats_tell_how_many_of_which_kind_and_how_old(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """By status, stage, error and topic: all of them, those of the last hour and day, the oldest and the newest."""
    old = dead_letter(ready, ZOOM_EVENTS, key=b"1", value=b"1", offset=0, stage="streams.rooms")
    with Producer(ready.kafka, client_id="tests") as producer:
        producer.send(old)
    fail(ready, faulty, range(100, 104))
    wait_for(lambda: rows_like(ready) == 5, what="the old one too")
    dlq("discard", "--key", "103", "--reason", "a test")
    told = {
        (each["status"], each["stage"], each["error_class"], each["topic"]): (
            *(each[name] for name in ("count", "last_hour", "last_day")),
            each["first_at"] <= each["last_at"],
        )
        for each in dlq("stats").lines
    }
    assert told == {
        ("open", "projectors.tally", "BadMessage", ROOM_EVENTS): (3, 3, 3, True),
        ("discarded", "projectors.tally", "BadMessage", ROOM_EVENTS): (1, 1, 1, True),
        ("open", "streams.rooms", "BadMessage", ZOOM_EVENTS): (1, 0, 0, True),
    }


def test_stats_that_are_watched_go_on_in_a_pipe(ready: Settings, faulty: Faulty) -> None:
    """Every two seconds a JSON line for each kind, with its moment, until somebody ends it."""
    fail(ready, faulty, [1])
    command = [sys.executable, "-m", "roomkeeper", "dlq", "stats", "--watch"]
    with subprocess.Popen(command, env=environment_for_children(ready), stdout=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        told = [json.loads(watching.stdout.readline()) for _ in range(2)]
        watching.terminate()
    assert ([each["count"] for each in told], told[0]["at"] < told[1]["at"]) == ([1, 1], True)


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


def test_an_editor_corrects_a_message(
    ready: Settings, faulty: Faulty, dlq: Dlq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without options the editor of the operator opens with the content; what it leaves is sent, and noted."""
    fail(ready, faulty, [5])
    monkeypatch.setenv("VISUAL", "sed -i s/5/56/")
    edited = dlq("edit", dlq("list").lines[0]["letter_id"], "--actor", "ann", "--reason", "a typing error")
    dlq("replay")
    wait_for(lambda: tally(ready) == [56], what="the corrected row")
    with connect(ready.postgres, role="tests") as connection:
        audit = connection.execute("SELECT actor, reason FROM audit WHERE verb = 'dlq.edit'").fetchall()
    assert "+56" in edited.text
    assert audit == [{"actor": "ann", "reason": "a typing error"}]


def test_many_are_not_changed_without_a_yes(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """Above the set number a command without `--yes` and without anybody to ask does nothing and exits 5."""
    fail(ready, faulty, range(1_000, 1_101))
    refused = dlq("discard", "--reason", "a test")
    assert (refused.code, rows_like(ready, status="open")) == (5, 101)
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
    wait_for(lambda: ledger_read(ready) >= 6, what="the ledger at the imported copies")
    assert rows_like(ready) == 3
    dlq("replay")
    expected = sorted([77, *(line["content"] for line in lines[1:])])
    wait_for(lambda: tally(ready) == expected, what="the rows, one of them corrected")


def test_a_sealed_body_goes_back_through_the_parser(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """A body that ingress could not read is opened, parsed and sent as the event it is, once it can be read."""
    run = {"id": 91_000_000_001, "uuid": "u/1=="}
    started = {
        "event": "meeting.started",
        "event_ts": 1_773_136_800_000,
        "payload": {"account_id": "acc", "object": run},
    }
    _keep_sealed(ready, {json.dumps(started).encode(), b"not JSON at all"})
    wait_for(lambda: rows_like(ready, sealed=True) == 2, what="the ledger")
    ended = dlq("replay", "--job", "bodies")
    [message] = messages(ready, ZOOM_EVENTS, at_least=1)
    event = decode(message.value(), ZoomEvent)
    assert (ended.lines[-1]["sent"], message.key(), event.name) == (2, b"91000000001", "meeting.started")
    wait_for(lambda: rows_like(ready, attempt=2), what="the return of the other")
    assert (rows_like(ready), rows_like(ready, status="open", attempt=2)) == (2, 1)


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
