"""A worker killed at each named point: nothing is lost and nothing comes twice, on the same disk and on empty ones."""

from __future__ import annotations

import signal
from pathlib import Path

from runtime.settings import Settings
from tests.streams.bench import Bench, counting_bench

POINTS = (
    "after-decode:300",
    "after-fold:300",
    "after-outputs:300",
    "before-commit:3",
    "after-commit:3",
    "after-rocksdb:3",
    "in-recovery",
)
IN_REBALANCE = "in-rebalance:2"
"""Faust revokes nothing before its first assignment; the second time is that of the stop."""


def test_killed_at_each_point_on_the_same_disk(settings: Settings, tmp_path: Path) -> None:
    """Each restart goes on from the disk as the kill left it."""
    bench = counting_bench(settings, tmp_path, "a", "b", a=2, b=2)
    for point in (*POINTS, IN_REBALANCE):
        _die(bench, point, disk="one")
    _finish(bench, disk="one")


def test_killed_at_each_point_and_the_disk_is_lost(settings: Settings, tmp_path: Path) -> None:
    """Each restart finds an empty disk and restores it, and is killed in that too."""
    bench = counting_bench(settings, tmp_path, "a", "b", a=2, b=2)
    _feed(bench)
    with bench.worker("zero", instance_id="one") as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
    for number, point in enumerate((*POINTS, "in-restore", IN_REBALANCE)):
        _die(bench, point, disk=f"disk-{number}")
    _finish(bench, disk="last")


def _feed(bench: Bench) -> None:
    bench.feed(1_200)
    bench.feed(5, do={"do": "bad"})
    bench.feed(300, name="b")


def _die(bench: Bench, point: str, *, disk: str) -> None:
    """Feed, and run a worker into its fail point."""
    _feed(bench)
    with bench.worker(disk, instance_id="one", fail_point=point) as worker:
        if point == IN_REBALANCE:
            worker.wait_until_ready()
            worker.process.send(signal.SIGTERM)
        assert worker.wait_until_ended() == -signal.SIGKILL, point


def _finish(bench: Bench, *, disk: str) -> None:
    with bench.worker(disk, instance_id="one") as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
    bench.judge()
