"""Dead letters on a real broker and database: replays, once, in order, by name."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import Message

from roomkeeper.cli import compose
from runtime.kafka.producer import Outgoing, Producer
from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS, ROOM_EVENTS
from tests.dlq import Dlq, Faulty, fail, ledger_read, messages, rows_like
from tests.projecting import tally
from tests.waiting import wait_for


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
    assert (held.lines[-1]["sent"], letter["status"], letter["attempt"], rows_like(ready)) == (0, "held", 4, 1)
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
    wait_for(lambda: rows_like(settings, attempt=attempt), what="the return")


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
    wait_for(lambda: rows_like(settings) == len(values), what="the dead letters")


def test_a_replay_does_not_chase_what_comes_back(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """Messages that return while a slow replay runs are not taken by it again."""
    fail(ready, faulty, range(100, 140))
    ended = dlq("replay", "--rate", "40", "--job", "slow")
    wait_for(lambda: rows_like(ready, attempt=2) == 40, what="the returns")
    assert ended.lines[-1]["sent"] == 40
    assert rows_like(ready, attempt=3) == 0


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
    wait_for(lambda: rows_like(ready, status="replayed"), what="the first messages")
    dlq("cancel", "long")
    thread.join()
    left = rows_like(ready, status="open")
    assert 0 < left < 60
    assert dlq("replay", "--job", "long").lines[-1]["sent"] == left
    wait_for(lambda: tally(ready) == list(range(100, 160)), what="the rows")


def test_the_same_failure_seen_twice_is_one_row(ready: Settings, faulty: Faulty, dlq: Dlq) -> None:
    """After a crash a record may be dead-lettered twice: the ledger has one row, and one replay sends one message."""
    fail(ready, faulty, [9])
    [letter] = messages(ready, DEAD_LETTERS, at_least=1)
    headers: Any = letter.headers() or []
    with Producer(ready.kafka, client_id="tests") as producer:
        topic = ready.kafka.topic_prefix + DEAD_LETTERS
        producer.send(Outgoing(topic=topic, key=letter.key(), value=letter.value(), headers=headers))
    wait_for(lambda: ledger_read(ready) >= 2, what="the ledger at the second copy")
    faulty.bad.clear()
    assert (rows_like(ready), dlq("replay").lines[-1]["sent"]) == (1, 1)
