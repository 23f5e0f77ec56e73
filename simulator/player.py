"""Plays scripts in rooms against the clock, divided by the speed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, groupby

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
    steps_left: int
    failed: list[str] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Player:
    """Plays any number of rooms at once, one timer for each moment of a script."""

    def __init__(self, world: World, *, clock: Clock, seed: int, speed: float) -> None:
        """Equal seeds, rooms and scenarios give equal scripts."""
        self.speed = speed
        self.plays: dict[int, Play] = {}
        self._world, self._clock, self._seed = world, clock, seed
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._moments = count()

    def play(self, room: Room, scenario: Scenario) -> Play:
        """Begins at once."""
        known = max(0, scenario.people - 1 - scenario.anonymous)
        people = cast.assemble(
            host=room.host, registrants=room.registrants.values(), known=known, anonymous=scenario.anonymous
        )
        random = seeded(self._seed, "script", str(room.number), str(len(room.runs)))
        steps = write(scenario, cast=people, random=random, gap_seconds=APART_SECONDS * self.speed)
        return self.perform(room, steps)

    def perform(self, room: Room, steps: Sequence[Step]) -> Play:
        """Plays the steps given, offsets from now."""
        play = Play(room=room, stage=Stage(self._world, room), steps_left=len(steps))
        self.plays[room.number] = play
        if len(self.plays) > _PLAYS_KEPT:
            del self.plays[next(iter(self.plays))]
        loop = asyncio.get_running_loop()
        begins_at = loop.time()
        for offset, moment in groupby(steps, key=lambda step: step.at_seconds):
            name, when = next(self._moments), begins_at + offset / self.speed
            self._timers[name] = loop.call_at(when, self._moment, name, play, tuple(moment))
        return play

    def close(self) -> None:
        """Nothing more is played."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _moment(self, name: int, play: Play, steps: Sequence[Step]) -> None:
        del self._timers[name]
        now = self._clock.now()
        for step in steps:
            try:
                play.stage.perform(step, at=now)
            except Refusal as refusal:
                # Somebody else ended or deleted the room meanwhile; the rest of the script goes on.
                play.failed.append(f"{step.act} {step.line}: {refusal}")
                _log.warning("simulator.step_refused", zoom_id=play.room.number, act=step.act, reason=str(refusal))
        play.steps_left -= len(steps)
        if play.steps_left == 0:
            play.done.set()
