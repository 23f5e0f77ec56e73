"""Workers that are broken from inside: each ends, with its reason."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from runtime.settings import Settings
from tests.streams.bench import counting_bench
from tests.streams.worker import Fault


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("deaf", "no progress for 6 s with work to do: "),
        ("hung-commit", "a commit has not ended within 3 s"),
        ("crashed-consumer", "AIOKafkaConsumerThread crashed"),
    ],
)
def test_a_worker_that_stands_still_ends(settings: Settings, tmp_path: Path, fault: Fault, reason: str) -> None:
    """Batches that get lost, a commit that never returns, and a dead thread end the process with stacks and a reason."""
    bench = counting_bench(settings, tmp_path, a=1)
    bench.feed(20)
    with bench.worker(fault=fault, stall_seconds=6.0, commit_timeout_seconds=3.0) as worker:
        assert worker.wait_until_ended() == 1
        assert worker.said("watchdog.ends")[0]["reason"].startswith(reason)
        assert "most recent call first" in worker.log.read_text()


def test_a_frozen_event_loop_ends_the_process(settings: Settings, tmp_path: Path) -> None:
    """A fold that never returns holds everything up, and a thread beside it says so."""
    bench = counting_bench(settings, tmp_path, a=1)
    bench.feed(1, do={"do": "sleep", "seconds": 3_600})
    with bench.worker(stall_seconds=5.0) as worker:
        assert worker.wait_until_ended() == 1
        reason = worker.said("watchdog.ends")[0]["reason"]
        assert re.search(r"the event loop (has not turned for|turned) [4-9] s", reason), reason
    assert bench.lag() == 1


def test_a_stop_that_hangs_is_made_short(settings: Settings, tmp_path: Path) -> None:
    """Faust's stop may hang in a join: the process ends all the same, soon after it was told to."""
    bench = counting_bench(settings, tmp_path, a=1)
    with bench.worker(fault="hung-stop", stop_seconds=1.0) as worker:
        worker.wait_until_ready()
        worker.process.send(signal.SIGTERM)
        assert worker.wait_until_ended(30) == 1
        assert "the stop took too long" in worker.log.read_text()
