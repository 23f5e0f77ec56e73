"""What keeps a worker from starting, and what it says."""

from __future__ import annotations

import resource
from importlib.metadata import version
from pathlib import Path

import pytest

from runtime.clock import SystemClock
from runtime.settings import Settings
from schemas.errors import Misconfigured
from streams.runner import run
from tests.streams.bench import Bench, counting_bench
from tests.streams.counting import CountingFold

FAUST = ("0.15.3", "0.7.1", "0.14.")
"""Faust, mode and aiokafka, whose insides the engine overrides: another version wants all of its tests read again."""


def test_faust_is_the_one_this_was_written_for() -> None:
    """The engine reaches into Faust: it is pinned, and a new version is a decision."""
    assert (version("faust-streaming"), version("mode-streaming"), version("aiokafka")[:5]) == FAUST


async def test_a_missing_topic_is_named(settings: Settings, tmp_path: Path) -> None:
    """Faust would wait for ever; a worker ends before it starts, and names what is missing."""
    bench = counting_bench(settings, tmp_path, "a")
    prefix = settings.kafka.topic_prefix
    missing = f"{prefix}in-ghost, {prefix}{settings.streams.app_id}-ghost-changelog"
    with pytest.raises(Misconfigured, match=f"missing topics: {missing}; `roomkeeper topics apply` makes them"):
        await start(bench, "a", "ghost")


async def test_a_changelog_with_other_partitions_is_refused(settings: Settings, tmp_path: Path) -> None:
    """A table whose changelog has fewer partitions than its source would lose keys: both are named."""
    bench = Bench(settings=settings, folder=tmp_path, names=("a",), changelog_partitions=3)
    bench.create_topics()
    with pytest.raises(Misconfigured, match=r"in-a has 4 partitions and .*-a-changelog 3: a table needs as many"):
        await start(bench, "a")


def test_a_state_folder_that_cannot_be_written_is_named(settings: Settings, tmp_path: Path) -> None:
    """A worker that cannot keep state ends with the path and the reason, and takes no partition."""
    bench = counting_bench(settings, tmp_path)
    (tmp_path / "one").write_text("a file is in the way")
    with bench.worker() as worker:
        assert worker.wait_until_ended() == 2
        assert f"ROOMKEEPER_STREAMS__DATA_DIR: {tmp_path / 'one'}" in worker.said("streams.ends")[0]["reason"]


def test_a_database_that_does_not_open_ends_the_worker(settings: Settings, tmp_path: Path) -> None:
    """A database that cannot be opened any more ends the worker with its path, and nothing is acknowledged."""
    bench = counting_bench(settings, tmp_path, a=1)
    bench.feed(20)
    (tmp_path / "one" / "v1" / "tables").mkdir(parents=True)
    (tmp_path / "one" / "v1" / "tables" / "a-0.db").write_text("a file is in the way")
    with bench.worker() as worker:
        assert worker.wait_until_ended() == 1
        assert f"{tmp_path / 'one/v1/tables/a-0.db'}" in worker.said("streams.ends")[0]["reason"]
    assert bench.lag() == 20


def test_a_disk_that_fills_up_ends_the_worker_and_loses_nothing(settings: Settings, tmp_path: Path) -> None:
    """RocksDB that can write no more under load ends the worker with the path and the reason; with room again all is right."""
    bench = counting_bench(settings, tmp_path, a=1)
    bench.feed(200)
    with bench.worker() as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
        full = 40_000
        resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE, (full, full))
        bench.feed(1_000)
        assert worker.wait_until_ended() == 1
        reason = worker.said("streams.ends")[0]["reason"]
        assert f"cannot write the state in {tmp_path / 'one/v1/tables/a-0.db'}" in reason
    with bench.worker() as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
    bench.judge()


async def start(bench: Bench, *names: str) -> None:
    """Start a worker in this process; it must not get far."""
    own = bench.settings.model_copy(
        update={"streams": bench.settings.streams.model_copy(update={"data_dir": bench.folder})}
    )
    await run(own, [CountingFold(name) for name in names], clock=SystemClock())
