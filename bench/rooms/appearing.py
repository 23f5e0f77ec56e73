"""How long a request waits from its appearance, the commit of its row, to the call that is made for it."""

from __future__ import annotations

import asyncio
import time

from bench.rooms.requests import created, project_batch
from bench.rooms.side import Calls, worker_of, working
from projectors.meetings import MeetingsProjection
from runtime.clock import SystemClock
from runtime.postgres import connect
from runtime.settings import Settings
from schemas.records.meeting_events import MeetingEvent
from tests.waiting import eventually

_A_SECOND = 100


async def seconds_to_call(settings: Settings, *, requests: int) -> list[float]:
    """Of so many requests that appear one after the other, a hundred a second, before a worker with nothing to do.

    Raises:
        AssertionError: some are never called for.
    """
    clock = SystemClock()
    calls = Calls(clock, tell=False)
    events = list(created(requests))
    async with worker_of(settings, calls) as worker, working(worker, settings):
        appeared = await asyncio.to_thread(_appear, settings, events, clock)
        await eventually(lambda: len(calls.moments) == requests, what="all were called for")
    return [calls.moments[agenda] - at for agenda, at in appeared.items()]


def _appear(settings: Settings, events: list[MeetingEvent], clock: SystemClock) -> dict[str, float]:
    """Each request's moment of commit, by the first line of its room's agenda."""
    projection, appeared = MeetingsProjection(), {}
    began = clock.monotonic_seconds()
    with connect(settings.postgres, role="bench", autocommit=True) as connection:
        for number, event in enumerate(events):
            time.sleep(max(0.0, began + number / _A_SECOND - clock.monotonic_seconds()))
            project_batch(connection, projection, [event])
            appeared[f"[roomkeeper {event.meeting_id}:create:1]"] = clock.monotonic_seconds()
    return appeared
