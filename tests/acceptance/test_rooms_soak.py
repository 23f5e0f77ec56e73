"""The soak in its short form: meetings through three room workers that are killed and paused, with a faulty Zoom."""

from __future__ import annotations

from pathlib import Path

from runtime.settings import Settings
from tests.soak.pace import Pace
from tests.soak.run import Size, soak

SHORT = Size(
    meetings=60,
    seconds=8.0,
    blow_every_seconds=(1.5, 2.5),
    pace=Pace(divisor=48.0),
    accounts=("acct-one",),
    hosts=6,
    patience_seconds=90.0,
)


def test_every_meeting_ends_with_its_one_room(settings: Settings, tmp_path: Path) -> None:
    """Whatever dies and fails on the way: one room with the present details, none if cancelled, no host over its budget."""
    outcome = soak(settings, tmp_path, seed=1, size=SHORT, say=lambda _served, _wanted: None)
    assert outcome.verdict.holds, "\n".join((outcome.line, *outcome.verdict.shown()))
