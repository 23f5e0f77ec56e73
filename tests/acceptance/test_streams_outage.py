"""The broker goes away under a worker and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roomkeeper.embedded.backing import Server
from tests.stack import Stack
from tests.streams.bench import Bench, counting_bench
from tests.waiting import wait_for

REQUEST_SECONDS = 10.0
"""A heartbeat that is not answered is missed after so long."""
SESSION_PASSED = "Heartbeat session expired - marking coordinator dead"
"""What aiokafka says once it has heard nothing for a whole session; the long outages are part of `make chaos`."""


@pytest.fixture
def bench(private_stack: Stack, tmp_path: Path) -> Iterator[Bench]:
    """A bench on a broker that may be broken."""
    with private_stack.corner() as settings:
        yield counting_bench(settings, tmp_path, a=2)


def test_a_broker_that_freezes(private_stack: Stack, bench: Bench) -> None:
    """Frozen for longer than a session: the worker holds, is assigned its partitions again, and loses nothing."""
    bench.feed(3_000)
    with bench.worker(request_timeout_seconds=REQUEST_SECONDS) as worker:
        worker.wait_until_ready()
        broker_of(private_stack).pause()
        wait_for(lambda: SESSION_PASSED in worker.log.read_text(), what="the session has passed")
        broker_of(private_stack).resume()
        bench.feed(500)
        bench.wait_until_done(worker)
    bench.judge()


def test_a_broker_that_dies(private_stack: Stack, bench: Bench) -> None:
    """Killed and started again under load: the worker goes on, or ends with a reason and its successor does."""
    bench.feed(5_800)
    bench.feed(200, do={"do": "sleep", "seconds": 0.02})
    with bench.worker() as worker:
        worker.wait_until_ready()
        wait_for(lambda: (lag := bench.lag()) is not None and lag < 6_000, what="under way")
        broker_of(private_stack).kill()
        broker_of(private_stack).start()
        wait_for(lambda: bench.lag() == 0 or worker.process.exit_code() is not None, what="done or ended")
        if worker.process.exit_code() is not None:
            assert worker.said("streams.ends") or worker.said("watchdog.ends"), worker.log.read_text()
    bench.feed(200)
    with bench.worker() as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
    bench.judge()


def broker_of(stack: Stack) -> Server:
    """The broker, which is this test's own."""
    broker = stack.backing.broker
    assert broker is not None
    return broker
