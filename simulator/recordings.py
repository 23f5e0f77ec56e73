"""Recording a run to the cloud: start, pause, resume, stop, and the files once the run is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from simulator.model import Room, Run, Stay
from simulator.payloads import recordings as told
from simulator.refusals import cannot_access
from simulator.runs import running
from simulator.wire import whole_second
from simulator.world import World


def begin(world: World, room: Room, *, at: datetime, kind: str = "started") -> None:
    """Recording starts or resumes."""
    run = running(room)
    if _open(run) is not None:
        raise cannot_access("The meeting is being recorded.")
    part = Stay(joined_at=whole_second(at))
    run.recorded.append(part)
    world.emit(room, told.progress(kind, room, run, at=at, part=part), at=at)


def pause(world: World, room: Room, *, at: datetime, kind: str = "paused") -> None:
    """Recording pauses or stops."""
    run = running(room)
    part = _open(run)
    if part is None:
        raise cannot_access("The meeting is not being recorded.")
    run.recorded[-1] = replace(part, left_at=whole_second(at))
    world.emit(room, told.progress(kind, room, run, at=at, part=run.recorded[-1]), at=at)


def complete(world: World, room: Room, run: Run, *, at: datetime) -> None:
    """The files are ready, which Zoom tells some time after the end."""
    if run.recorded:
        run.files_told = True
        world.emit(room, told.completed(room, run, world.ids, at=at), at=at)


def _open(run: Run) -> Stay | None:
    return run.recorded[-1] if run.recorded and run.recorded[-1].left_at is None else None
