"""More than one worker: one is frozen past its session, one dies, one joins, one leaves."""

from __future__ import annotations

import signal
from pathlib import Path

from runtime.settings import Settings
from tests.streams.bench import Worker, counting_bench
from tests.waiting import wait_for


def test_a_worker_that_wakes_after_its_session_writes_nothing(settings: Settings, tmp_path: Path) -> None:
    """Frozen in mid-transaction, taken over, woken: it is fenced, and the state restored on empty disks is right."""
    bench = counting_bench(settings, tmp_path, a=2)
    bench.feed(1_000)
    bench.feed(300, do={"do": "sleep", "seconds": 0.01})
    with bench.worker("one", instance_id=None, transaction_events=200) as frozen:
        frozen.wait_until_ready()
        wait_for(lambda: (bench.lag() or 0) < 300, what="in the slow part")
        frozen.process.pause()
        with bench.worker("two", instance_id=None) as heir:
            heir.wait_until_ready()
            bench.wait_until_done(heir)
            bench.judge()
            bench.feed(500)
            frozen.process.resume()
            bench.wait_until_done(heir)
            bench.judge()
    bench.feed(100)
    with bench.worker("three") as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
    bench.judge()


def test_workers_come_and_go(settings: Settings, tmp_path: Path) -> None:
    """One joins under load, one dies, one leaves in order; what each had is taken over by the other."""
    bench = counting_bench(settings, tmp_path, "a", "b", a=4, b=4)
    bench.feed(4_000)
    bench.feed(500, name="b")
    with bench.worker("one", instance_id=None) as one, bench.worker("two", instance_id=None) as two:
        one.wait_until_ready()
        two.wait_until_ready()
        wait_for(lambda: _owned(one) + _owned(two) == 8, what="partitions shared")
        bench.feed(2_000)
        one.process.kill()
        bench.wait_until_done(two)
        with bench.worker("three", instance_id=None) as three:
            three.wait_until_ready()
            bench.feed(2_000)
            two.process.send(signal.SIGTERM)
            assert two.wait_until_ended() == 0
            bench.wait_until_done(three)
    bench.judge()


def _owned(worker: Worker) -> int:
    lines = worker.said("streams.ready")
    return int(lines[-1]["partitions"]) if lines else 0
