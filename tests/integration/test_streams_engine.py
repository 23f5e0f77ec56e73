"""The engine in a process of its own, on a real broker: what it does when nothing, or only a message, is wrong."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import cast

from confluent_kafka import Message

from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS
from schemas.dead_letters import parse_dead_letter
from streams.engine.store import PartitionStore, partition_path
from tests.streams.bench import Bench, Worker, counting_bench
from tests.waiting import wait_for


def test_every_event_once(settings: Settings, tmp_path: Path) -> None:
    """Two sources with different partition counts: each event is in the state and has its output, once, also after restarts.

    The clock of the second worker has stepped back by an hour, that of the third forward.
    """
    bench = counting_bench(settings, tmp_path, "a", "b", a=4, b=3)
    bench.feed(3_000)
    bench.feed(7, do={"do": "bad"})
    bench.feed(900, name="b")
    with bench.worker() as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
        assert listening_ports(worker) == []
        worker.process.send(signal.SIGTERM)
        assert worker.wait_until_ended() == 0
    bench.judge()
    _check_dead_letters(bench)
    _check_partitions(bench)
    _check_disk(bench)
    bench.feed(100)
    with bench.worker(shift_seconds=-3_600.0) as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
        assert worker.said("streams.restored")[0]["records"] == 0
    bench.feed(100)
    with bench.worker("empty", shift_seconds=3_600.0) as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
        assert worker.said("streams.restored")[0]["records"] >= 400
    bench.judge()


def test_a_fold_with_a_fault_ends_the_process(settings: Settings, tmp_path: Path) -> None:
    """A fold that raises ends the worker with the reason; its record is not acknowledged, so a restart ends there again."""
    bench = counting_bench(settings, tmp_path, a=1)
    bench.feed(50)
    with bench.worker() as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
        bench.feed(1, do={"do": "raise"})
        assert worker.wait_until_ended() == 1
        assert worker.said("streams.ends")[0]["kind"] == "ZeroDivisionError"
    bench.feed(20)
    with bench.worker() as worker:
        assert worker.wait_until_ended() == 1
        assert worker.said("streams.ends")[0]["kind"] == "ZeroDivisionError"
    assert bench.lag() == 21


def test_the_dead_letter_limit_stops_a_bad_deploy(settings: Settings, tmp_path: Path) -> None:
    """A run of bad messages stops the worker before it is acknowledged, at every restart, until the limit is raised."""
    bench = counting_bench(settings, tmp_path, a=1)
    bench.feed(30)
    bench.feed(100, do={"do": "bad"})
    bench.feed(30)
    lags = []
    for _ in range(2):
        with bench.worker(dead_letter_run=60) as worker:
            assert worker.wait_until_ended() == 1
            reason = worker.said("streams.ends")[0]["reason"]
            assert "60 bad messages in a row, the last at offset 89: BadMessage it says so itself" in reason
        lags.append(bench.lag())
    assert lags[0] == lags[1]
    assert len(bench.read(DEAD_LETTERS)) < 60
    with bench.worker(dead_letter_run=500) as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
    bench.judge()


def test_deliveries_that_fail_abort_and_come_again(settings: Settings, tmp_path: Path) -> None:
    """While the broker refuses outputs, transactions are aborted and folded again; nothing is lost or doubled by that."""
    bench = counting_bench(settings, tmp_path, a=2)
    bench.configure("out-a", max_message_bytes="100")
    bench.feed(400)
    with bench.worker() as worker:
        worker.wait_until_ready()
        wait_for(lambda: len(worker.said("transaction.aborted")) > 3, what="aborted transactions")
        assert bench.lag() == 400
        bench.configure("out-a", max_message_bytes="1000000")
        bench.wait_until_done(worker)
    bench.judge()


def listening_ports(worker: Worker) -> list[int]:
    """Ports on which the process listens: Faust's own web server would be one."""
    links = (link for link in Path(f"/proc/{worker.process.pid}/fd").iterdir() if link.is_symlink())
    sockets = {str(link.readlink()) for link in links}
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


def _check_dead_letters(bench: Bench) -> None:
    """Key and value are the original ones, and the headers say where it came from and why."""
    letters = bench.read(DEAD_LETTERS)
    originals = {(each.topic(), each.partition(), each.offset()): each for each in bench.read("in-a")}
    for letter in letters:
        failure = parse_dead_letter(headers_of(letter)).failure
        origin = failure.origin
        original = originals[origin.topic, origin.partition, origin.offset]
        assert (letter.key(), letter.value()) == (original.key(), original.value())
        assert (failure.stage, failure.error_class, failure.attempt) == ("streams.a", "BadMessage", 1)
        assert failure.message == "it says so itself"


def _check_partitions(bench: Bench) -> None:
    """Source, output and changelog agree on the partition of a key."""
    app_id = bench.settings.streams.app_id
    for name in bench.names:
        found = [partitions_by_key(bench.read(topic)) for topic in (f"in-{name}", f"out-{name}")]
        assert found[0] == found[1] == partitions_by_key(bench.read(f"{app_id}-{name}-changelog"))


def headers_of(message: Message) -> list[tuple[str, bytes | None]]:
    """The headers, which the client types more widely than it gives them."""
    return cast("list[tuple[str, bytes | None]]", message.headers() or [])


def partitions_by_key(messages: list[Message]) -> dict[bytes | None, int | None]:
    """The partition in which a key lies."""
    return {each.key(): each.partition() for each in messages}


def _check_disk(bench: Bench) -> None:
    """RocksDB holds what the changelog holds, byte for byte."""
    app_id = bench.settings.streams.app_id
    for name in bench.names:
        newest = {(each.partition(), each.key()): each.value() for each in bench.read(f"{app_id}-{name}-changelog")}
        held: Counter[int] = Counter()
        for partition in range(bench.partitions[name]):
            path = partition_path(bench.folder / "one", table=name, partition=partition)
            store = PartitionStore(path, read_only=True)
            for key, value in store.items():
                assert newest[partition, key] == value, json.dumps([name, partition, key.decode()])
                held[partition] += 1
            store.close()
        assert held.total() == len(newest)
