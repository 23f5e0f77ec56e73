"""A worker killed at each named point: nothing is lost and nothing comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.settings import Settings
from tests.streams.bench import counting_bench
from tests.streams.kills import kill_at_each_point


@pytest.mark.timeout(480)
def test_killed_at_each_point(settings: Settings, tmp_path: Path) -> None:
    """Restarts find the disk of the kill and an empty one in turns; `make chaos` tries every point on both."""
    bench = counting_bench(settings, tmp_path, "a", "b", a=2, b=2)
    kill_at_each_point(bench, lambda number: f"disk-{number // 2}")
