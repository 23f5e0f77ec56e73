"""The simulator's histories as the fold gets them, and what was true of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from runtime.randomness import Random
from schemas.records.zoom_events import ZoomEvent
from simulator.histories import ACCOUNT_ID, History
from simulator.truth import RunTruth
from zoom.webhooks import parse

BEGINS_AT = datetime(2026, 3, 10, 10, tzinfo=UTC)
Counted = dict[str, dict[str, Any]]
"""By run: its times, and the seconds of each person in order."""


def events(made: History) -> list[ZoomEvent]:
    """What ingress would make of the history's webhooks."""
    received_at = made.ends_at + timedelta(hours=1)
    return [
        parse(told.body, account_id=ACCOUNT_ID, request_id=str(at), received_at=received_at, source="webhook")
        for at, told in enumerate(made.told)
    ]


def shuffled(told: list[ZoomEvent], random: Random) -> list[ZoomEvent]:
    """All of them in any order, some of them again."""
    doubled = [*told, *random.sample(told, k=len(told) // 3)]
    random.shuffle(doubled)
    return doubled


def true(made: History) -> Counted:
    """What the simulator says of every run."""
    return {run.uuid: _true_run(run) for room in made.rooms for run in room.instances}


def _true_run(run: RunTruth) -> dict[str, Any]:
    return {
        "started_at": int(run.started_at.timestamp() * 1000),
        "ended_at": int(run.ended_at.timestamp() * 1000) if run.ended_at else None,
        "people": sorted((each.identity, each.seconds) for each in run.people if each.identity),
        "strangers": sorted(each.seconds for each in run.people if not each.identity),
    }
