"""`roomkeeper projectors`: keep PostgreSQL equal to the events."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from threading import Event
from typing import Annotated, Any

import structlog
import typer

from projectors.projection import Projection
from projectors.service import Stalled, run
from runtime.clock import SystemClock
from runtime.logs import configure
from runtime.metrics.registry import Metrics
from runtime.randomness import unseeded
from runtime.settings import load
from schemas.errors import Misconfigured


def build() -> typer.Typer:
    """The commands below `roomkeeper projectors`."""
    app = typer.Typer(no_args_is_help=True)
    app.callback()(_group)
    app.command("run")(_run)
    return app


def projections() -> Mapping[str, Projection[Any]]:
    """Every projection by name."""
    from projectors.meetings import MeetingsProjection
    from projectors.rooms import RoomsProjection

    found: tuple[Projection[Any], ...] = (MeetingsProjection(), RoomsProjection())
    return {each.name: each for each in found}


def _group() -> None:
    """Keep PostgreSQL equal to the events."""


def _run(
    only: Annotated[list[str] | None, typer.Option(help="Run this projection alone; may be repeated.")] = None,
) -> None:
    """Run the projectors until SIGTERM or Ctrl-C; any number of processes share the partitions."""
    known = projections()
    unknown = sorted(set(only or ()) - known.keys())
    if unknown:
        raise Misconfigured(f"--only: there is no projection {', '.join(unknown)}, but {', '.join(known)}")
    settings = load()
    clock = SystemClock(settings.clock.shift_seconds)
    configure(settings.log, role="projectors", clock=clock)
    stop = Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    try:
        wanted = [known[name] for name in only or known]
        run(settings, wanted, stop=stop, metrics=Metrics(), clock=clock, random=unseeded())
    except Stalled as error:
        # Its thread may never end, and would keep the process from ending.
        structlog.get_logger().critical("projectors.stalled", cause=str(error))
        os._exit(1)
