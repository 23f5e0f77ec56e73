"""A worker killed at each of its fail points, one after the other: each restart recovers from one kill and meets the next."""

from __future__ import annotations

import signal
from collections.abc import Callable

from tests.streams.bench import Bench

IN_REBALANCE = "in-rebalance:2"
"""Faust revokes nothing before its first assignment; the second time is that of the stop."""
IN_RESTORE = "in-restore"
"""Only an empty disk has anything to restore."""
POINTS = (
    "after-decode:300",
    "after-fold:300",
    "after-outputs:300",
    "before-commit:3",
    "after-commit:3",
    "after-rocksdb:3",
    "in-recovery",
    IN_RESTORE,
    IN_REBALANCE,
)


def kill_at_each_point(bench: Bench, disk_of: Callable[[int], str]) -> None:
    """Kill a worker at every point, the n-th on the disk `disk_of(n)`; then let one finish, and judge."""
    _feed(bench)
    with bench.worker(disk_of(0), instance_id="one") as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
    for number, point in enumerate(POINTS):
        _die(bench, point, disk="lost" if point == IN_RESTORE else disk_of(number))
    with bench.worker(disk_of(len(POINTS)), instance_id="one") as worker:
        worker.wait_until_ready()
        bench.wait_until_done(worker)
    bench.judge()


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
