"""Plays the steps of a script in one room, at whatever times it is told."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from simulator import recordings, runs
from simulator.model import Connection, Room
from simulator.payloads import people as told
from simulator.refusals import cannot_access
from simulator.script import Act, Step
from simulator.world import World


class Stage:
    """One room with the connections that a script names."""

    def __init__(self, world: World, room: Room) -> None:
        """The room may be in any state; the script's first step decides."""
        self._world, self._room = world, room
        self._lines: dict[str, Connection] = {}

    def perform(self, step: Step, *, at: datetime) -> None:
        """Does one step.

        Raises:
            Refusal: the room is not in the state that the step needs.
        """
        world, room = self._world, self._room
        match step.act:
            case Act.START:
                runs.start(world, room, at=at)
            case Act.END:
                runs.end(world, room, at=at)
            case Act.RECORD | Act.RESUME:
                recordings.begin(world, room, at=at, kind="started" if step.act is Act.RECORD else "resumed")
            case Act.PAUSE | Act.STOP:
                recordings.pause(world, room, at=at, kind="paused" if step.act is Act.PAUSE else "stopped")
            case Act.FILES:
                for run in room.runs:
                    if run.ended_at is not None and not run.files_told:
                        recordings.complete(world, room, run, at=at)
            case _:
                self._move(step, at=at)

    def _move(self, step: Step, *, at: datetime) -> None:
        world, room = self._world, self._room
        if step.act is Act.BREAKOUT:
            main = self._line(step.within)
            self._lines[step.line] = runs.to_breakout(world, room, main, number=step.breakout, at=at)
            return
        if step.person is not None:
            self._lines[step.line] = runs.connect(world, room, step.person)
        who = self._line(step.line)
        match step.act:
            case Act.JOIN:
                runs.join(world, room, who, at=at)
            case Act.LEAVE:
                runs.leave(world, room, who, at=at)
            case Act.WAIT:
                runs.enter_lobby(world, room, who, at=at)
            case Act.ADMIT:
                runs.admit(world, room, who, at=at)
            case Act.SHARE | Act.UNSHARE:
                kind = "started" if step.act is Act.SHARE else "ended"
                world.emit(room, told.sharing(kind, room, runs.running(room), who, at=at), at=at)
            case Act.START | Act.END | Act.RECORD | Act.RESUME | Act.PAUSE | Act.STOP | Act.FILES:
                raise AssertionError(step.act)
            case _:
                assert_never(step.act)

    def _line(self, name: str) -> Connection:
        if name not in self._lines:
            raise cannot_access("The participant never came in.")
        return self._lines[name]
