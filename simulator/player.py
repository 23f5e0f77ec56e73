"""Plays scripts in rooms against the clock, divided by the speed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby

import structlog

from runtime.clock import Clock
from runtime.randomness import seeded
from simulator import cast
from simulator.model import Room
from simulator.refusals import Refusal
from simulator.script import Scenario, Step, write
from simulator.stage import Stage
from simulator.world import World

_log = structlog.get_logger(__name__)
APART_SECONDS = 1.1
"""True seconds that part two steps of one connection."""
_PLAYS_KEPT = 10_000


@dataclass(slots=True, kw_only=True)
class Play:
    """One script being played, or played."""

    room: Room
    stage: Stage
    begins_at: float
    """In the event loop's time."""
    moments: deque[tuple[Step, ...]]
    """What is still to come; each moment's steps happen together."""
    failed: list[str] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    timer: asyncio.TimerHandle | None = None


class Player:
    """Plays any number of rooms at once, one timer for each; the moments of a room never overtake each other."""

    def __init__(self, world: World, *, clock: Clock, seed: int, speed: float) -> None:
        """Equal seeds, rooms and scenarios give equal scripts."""
        self.speed = speed
        self.plays: dict[int, Play] = {}
        self._world, self._clock, self._seed = world, clock, seed

    def play(self, room: Room, scenario: Scenario) -> Play:
        """Begins at once."""
        return self.perform(room, self._script(room, scenario, gap_seconds=APART_SECONDS * self.speed))

    def happened(self, room: Room, scenario: Scenario) -> int:
        """All of it at once, under the times that it would have had to be over by now; the number of steps.

        Raises:
            Refusal: the room is in use, or deleted.
        """
        steps = self._script(room, scenario, gap_seconds=APART_SECONDS)
        begins_at = self._clock.now() - timedelta(seconds=steps[-1].at_seconds)
        stage = Stage(self._world, room)
        for step in steps:
            stage.perform(step, at=begins_at + timedelta(seconds=step.at_seconds))
        return len(steps)

    def _script(self, room: Room, scenario: Scenario, *, gap_seconds: float) -> Sequence[Step]:
        known = max(0, scenario.people - 1 - scenario.anonymous)
        people = cast.assemble(
            host=room.host, registrants=room.registrants.values(), known=known, anonymous=scenario.anonymous
        )
        random = seeded(self._seed, "script", str(room.number), str(len(room.runs)))
        return write(scenario, cast=people, random=random, gap_seconds=gap_seconds)

    def perform(self, room: Room, steps: Sequence[Step]) -> Play:
        """Plays the steps given, offsets from now."""
        moments = deque(tuple(moment) for _, moment in groupby(steps, key=lambda step: step.at_seconds))
        begins_at = asyncio.get_running_loop().time()
        play = Play(room=room, stage=Stage(self._world, room), begins_at=begins_at, moments=moments)
        self.plays[room.number] = play
        if len(self.plays) > _PLAYS_KEPT:
            del self.plays[next(iter(self.plays))]
        self._await_next(play)
        return play

    def close(self) -> None:
        """Nothing more is played."""
        for play in self.plays.values():
            if play.timer is not None:
                play.timer.cancel()

    def _await_next(self, play: Play) -> None:
        if not play.moments:
            play.timer = None
            play.done.set()
            return
        when = play.begins_at + play.moments[0][0].at_seconds / self.speed
        play.timer = asyncio.get_running_loop().call_at(when, self._perform_next, play)

    def _perform_next(self, play: Play) -> None:
        now = self._clock.now()
        for step in play.moments.popleft():
            try:
                play.stage.perform(step, at=now)
            except Refusal as refusal:
                # Somebody else ended or deleted the room meanwhile; the rest of the script goes on.
                play.failed.append(f"{step.act} {step.line}: {refusal}")
                _log.debug("simulator.step_refused", zoom_id=play.room.number, act=step.act, reason=str(refusal))
        self._await_next(play)
