"""The day itself: meetings are asked for, people meet, things break, and what is known is held against the truth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from roomkeeper.demo.caller import Caller
from roomkeeper.demo.programme import BOOKINGS, MINUTES, QUIET, ROOM_FAULTS, WEBHOOK_FAULTS, Booking
from roomkeeper.demo.verdict import Verdict, judge
from roomkeeper.demo.zoom_side import ZoomSide
from runtime.clock import Clock
from schemas.errors import Broken

_MIDDLE_SHARE = 0.55
"""Of a meeting's length: when rejoins, breakout rooms and lobbies are under way."""
_PATIENCE_SECONDS = 60.0
"""How long what is known may take to follow what happened, a worker's restart included."""
_LOOK_SECONDS = 1.0
_START_IN = timedelta(minutes=30)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """How a worker is killed, and how one knows that it is back."""

    kill: Callable[[], None]
    is_back: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the day came to."""

    verdicts: Sequence[Verdict]
    counts: Mapping[str, Any]


class Day:
    """One run of the programme."""

    def __init__(self, caller: Caller, zoom: ZoomSide, *, clock: Clock, speed: float, run_id: str, say: Say) -> None:
        """`run_id` makes this run's meetings others than those of earlier ones."""
        self._caller, self._zoom, self._clock, self._speed = caller, zoom, clock, speed
        self._run_id, self._say = run_id, say
        self._meeting_ids: Sequence[str] = ()

    async def pass_by(self, breakage: Breakage) -> Outcome:
        """Lives the day and judges it."""
        await self._book()
        await self._meet(breakage)
        verdicts = await self._judge_until_right()
        return Outcome(verdicts=verdicts, counts=await self._zoom.counts())

    async def _book(self) -> None:
        self._say(f"asking for {len(BOOKINGS)} meetings over HTTP; the answer to one create will be lost")
        await self._zoom.order(ROOM_FAULTS)
        booked = (self._book_one(number, each) for number, each in enumerate(BOOKINGS))
        self._meeting_ids = await asyncio.gather(*booked)
        self._say("every meeting has its room; one is being changed, one called off")
        await asyncio.gather(*(self._follow_up(booking, meeting_id) for booking, meeting_id in self._meetings))

    async def _book_one(self, number: int, booking: Booking) -> str:
        start_at = self._clock.now() + _START_IN
        meeting = {"host": booking.host, "topic": booking.topic, "duration_minutes": MINUTES}
        meeting["start_time"] = start_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        return await self._caller.book(f"{self._run_id}-{number}", meeting)

    async def _follow_up(self, booking: Booking, meeting_id: str) -> None:
        if booking.change is not None:
            await self._caller.change(meeting_id, key=f"{self._run_id}-change", changes=booking.change)
        if booking.is_cancelled:
            await self._caller.cancel(meeting_id, key=f"{self._run_id}-cancel")

    async def _meet(self, breakage: Breakage) -> None:
        await self._zoom.order(WEBHOOK_FAULTS)
        self._say(f"people meet: {MINUTES} minutes at {self._speed:g} times the speed; webhooks double, overtake, fail")
        for booking, meeting_id in self._meetings:
            if not booking.is_cancelled:
                meeting = await self._caller.meeting(meeting_id)
                scenario = {**QUIET, "minutes": MINUTES, **booking.scenario}
                await self._zoom.play(meeting["room"]["zoom_id"], scenario)
        await asyncio.sleep(MINUTES * 60 / self._speed * _MIDDLE_SHARE)
        self._say("killing a stream worker")
        breakage.kill()
        await self._zoom.plays_end()
        await self._until_back(breakage)
        self._say("the meetings are over, every webhook has arrived, the worker is back")

    async def _until_back(self, breakage: Breakage) -> None:
        deadline = self._clock.monotonic_seconds() + _PATIENCE_SECONDS
        while not breakage.is_back():
            if self._clock.monotonic_seconds() > deadline:
                raise Broken("the stream worker did not come back")
            await asyncio.sleep(_LOOK_SECONDS)

    @property
    def _meetings(self) -> Iterator[tuple[Booking, str]]:
        return zip(BOOKINGS, self._meeting_ids, strict=True)

    async def _judge_until_right(self) -> Sequence[Verdict]:
        deadline = self._clock.monotonic_seconds() + _PATIENCE_SECONDS
        while True:
            verdicts = await self._judge()
            if not any(each.objections for each in verdicts) or self._clock.monotonic_seconds() > deadline:
                return verdicts
            await asyncio.sleep(_LOOK_SECONDS)

    async def _judge(self) -> Sequence[Verdict]:
        truth = await self._zoom.truth()
        return await asyncio.gather(
            *(self._judge_one(booking, meeting_id, truth) for booking, meeting_id in self._meetings)
        )

    async def _judge_one(self, booking: Booking, meeting_id: str, truth: Sequence[Mapping[str, Any]]) -> Verdict:
        meeting = await self._caller.meeting(meeting_id)
        # The key of the create that made a room begins with the meeting's id and stands in the room's agenda.
        rooms = [room for room in truth if meeting_id in room["agenda"]]
        runs = [run for room in rooms for run in await self._caller.runs(room["zoom_id"])]
        return judge(booking, meeting=meeting, runs=runs, rooms=rooms)
