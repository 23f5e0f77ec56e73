"""When a worker has stood still for too long."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest

from streams.watchdog import Patience, Sight, end

WORKING = Sight(at_seconds=0.0, progress=1, to_do="12 records are not committed", reachable=True)


def after(seconds: int, *looks: Sight) -> bool:
    """Whether patience has run out at the last of looks that are so many seconds apart, ten being allowed."""
    patience = Patience(stall_seconds=10.0)
    ran_out = False
    for number, look in enumerate(looks):
        ran_out = patience.runs_out(replace(look, at_seconds=float(number * seconds)))
    return ran_out


def test_no_progress_under_lag_runs_out() -> None:
    """The same progress for the whole time, with something to do, is the end."""
    assert not after(2, *[WORKING] * 5)
    assert after(2, *[WORKING] * 6)


def test_progress_starts_the_time_anew() -> None:
    """One step forward, however late, is enough."""
    assert not after(2, *[WORKING] * 5, *[replace(WORKING, progress=2)] * 5)


def test_nothing_to_do_is_no_stall() -> None:
    """A worker without lag may be idle for ever, and has its whole time when something comes."""
    idle = replace(WORKING, to_do="")
    assert not after(2, *[idle] * 500, *[WORKING] * 5)


def test_time_without_a_broker_does_not_count() -> None:
    """While the broker is away nothing runs out; what ran before it went still counts when it is back."""
    away = replace(WORKING, reachable=False)
    assert not after(2, *[WORKING] * 4, *[away] * 500, *[WORKING] * 2)
    assert after(2, *[WORKING] * 4, *[away] * 500, *[WORKING] * 3)


def test_an_end_is_told_whatever_stands_for_stderr(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Faust puts an object without a file into sys.stderr, at which a dump of the stacks would raise."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    codes: list[int] = []
    end("nothing moves", leave=codes.append)
    assert codes == [1]
    assert "most recent call first" in capfd.readouterr().err
