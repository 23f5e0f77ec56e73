"""The command `roomkeeper demo`."""

from __future__ import annotations

import asyncio
import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Annotated, TextIO

import typer
from rich.console import Console

from roomkeeper.demo.caller import Caller
from roomkeeper.demo.day import Breakage, Day, Outcome
from roomkeeper.demo.report import conclusion, happenings, objections, table
from roomkeeper.demo.zoom_side import ZoomSide
from roomkeeper.interruption import interruption
from roomkeeper.local.stack import Shape, Stack
from roomkeeper.up import welcome
from runtime.clock import SystemClock
from runtime.randomness import unseeded
from runtime.settings import Settings, load
from schemas.errors import Broken, Misconfigured

WORKERS = 2
USUAL_SPEED = 90.0
"""At which 45 minutes last half a minute, and Zoom's first retry comes after three seconds."""
_PIPE_WIDTH = 120
_VICTIM = "streams-1"


def build() -> typer.Typer:
    """The command `roomkeeper demo`."""
    app = typer.Typer()
    app.command("demo")(_demo)
    return app


def _demo(
    *,
    speed: Annotated[
        float, typer.Option(min=1.0, help="Divides the meetings' 45 minutes and Zoom's delays.")
    ] = USUAL_SPEED,
    seed: Annotated[int, typer.Option(help="Equal seeds give an equal day.")] = 1,
    stay: Annotated[
        bool | None, typer.Option(help="Whether it stays up afterwards; by default where there is a terminal.")
    ] = None,
) -> None:
    """A day of meetings with faults, on a real broker and database, beside what should come out."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    settings = _own_settings(load())
    shape = Shape(copies={"streams": WORKERS}, simulator=("--speed", f"{speed:g}", "--seed", str(seed)))
    with _emptied(settings.embedded.data_dir) as folder, (folder / "processes.log").open("w", encoding="utf-8") as log:
        console.print(
            f"starting broker, database, simulated Zoom and all roles; their words: {log.name}", soft_wrap=True
        )
        with Stack(settings, sink=_FileLog(log), shape=shape) as stack:
            outcome = asyncio.run(_day(stack, console, speed=speed))
            stays = console.is_terminal if stay is None else stay
            _print(console, outcome, addresses=welcome(stack, SystemClock()) if stays else None)
            if stays:
                with interruption() as wanted:
                    wanted.wait()
    if any(verdict.objections for verdict in outcome.verdicts):
        raise typer.Exit(1)


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    """The folder without what an earlier day left in it, whose Zoom is gone; nobody else's while the context lasts."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as claim:
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Misconfigured(f"another demo uses {folder}: stop it first") from error
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield folder


async def _day(stack: Stack, console: Console, *, speed: float) -> Outcome:
    clock = SystemClock(shift_seconds=stack.settings.clock.shift_seconds)
    began = clock.monotonic_seconds()

    def say(text: str) -> None:
        console.print(f"[dim]{clock.monotonic_seconds() - began:6.1f} s[/]  {text}", soft_wrap=True)

    if stack.addresses.simulator is None:
        raise Broken("the stack has no simulated Zoom")
    caller = Caller(stack.addresses.ingress, api_key=stack.api_key)
    async with caller, ZoomSide(stack.addresses.simulator) as zoom:
        run_id = f"demo-{unseeded().getrandbits(48):012x}"
        day = Day(caller, zoom, clock=clock, speed=speed, run_id=run_id, say=say)
        return await day.pass_by(_breakage(stack))


def _breakage(stack: Stack) -> Breakage:
    starts = stack.group.starts(_VICTIM)

    def is_back() -> bool:
        if stack.group.failed:
            raise Misconfigured(f"{', '.join(stack.group.failed)} ended for good")
        return stack.group.starts(_VICTIM) > starts and stack.group.pid(_VICTIM) is not None

    return Breakage(kill=lambda: stack.group.kill(_VICTIM), is_back=is_back)


def _own_settings(settings: Settings) -> Settings:
    """Never a real Zoom, and a folder of its own beside that of `roomkeeper up`."""
    embedded = settings.embedded.model_copy(update={"data_dir": settings.embedded.data_dir.with_name("demo")})
    return settings.model_copy(update={"accounts": (), "embedded": embedded})


def _print(console: Console, outcome: Outcome, *, addresses: str | None) -> None:
    console.print()
    console.print(table(outcome.verdicts))
    for objection in objections(outcome.verdicts):
        console.print(f"[red]{objection}[/]")
    console.print(happenings(outcome.counts, workers_killed=1))
    if addresses is not None:
        console.print(addresses, markup=False, soft_wrap=True)
    console.print(conclusion(outcome.verdicts))


class _FileLog:
    """Takes the lines of all processes into one file."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._lock = file, Lock()

    def __call__(self, name: str, line: str) -> None:
        """One line of the process `name`."""
        with self._lock:
            self._file.write(f"{name:>12} | {line}\n")
            self._file.flush()
