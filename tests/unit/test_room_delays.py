"""When kept requests are due again: full jitter over steps that double, bounded, and look-ups spread over their time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reconciler.rooms.delays import EARLY_ATTEMPTS, LOOKS, Delays
from runtime.randomness import seeded
from runtime.settings import RoomSettings
from tests.simulated_zoom import ManualClock

CLOCK = ManualClock()


def delays() -> Delays:
    """With the usual settings: 500 ms to 60 s, then up to 15 minutes."""
    return Delays(RoomSettings(), clock=CLOCK, random=seeded(1, "delays"))


@pytest.mark.parametrize(
    ("attempts", "most_seconds"),
    [(0, 0.5), (1, 1.0), (6, 32.0), (7, 60.0), (EARLY_ATTEMPTS, 60.0), (EARLY_ATTEMPTS + 1, 120.0), (60, 900.0)],
)
def test_waits_are_drawn_from_nothing_to_a_bounded_step(attempts: int, most_seconds: float) -> None:
    """Full jitter: any wait up to the step, which doubles, stays at the early limit for a while, and ends at the last."""
    drawn = delays()
    waits = [(drawn.again_at(attempts) - CLOCK.now()).total_seconds() for _ in range(400)]
    assert 0.0 <= min(waits) < 0.1 * most_seconds
    assert 0.9 * most_seconds < max(waits) <= most_seconds


def test_nothing_is_due_before_zoom_said_so() -> None:
    """What Zoom asked for comes first, jitter on top of it."""
    not_before = CLOCK.now() + timedelta(seconds=100)
    waits = [delays().again_at(0, not_before=not_before) - not_before for _ in range(20)]
    assert all(timedelta(0) <= wait <= timedelta(seconds=0.5) for wait in waits)


def test_look_ups_are_spread_over_the_whole_time() -> None:
    """Soon at first, the last one when the time is over, and only that one proves anything."""
    unknown_at = CLOCK.now()
    moments = [delays().look_at(unknown_at, looks=looks) for looks in range(len(LOOKS))]
    assert [round((at - unknown_at).total_seconds()) for at in moments] == [0, 12, 30, 60, 120]
    assert moments[-1] >= delays().settled_at(unknown_at) > moments[-2]
