"""`roomkeeper projectors`: keep PostgreSQL equal to the events."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from threading import Event
from typing import Annotated, Any, TypeVar

import structlog
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from projectors.projection import Projection, Rebuildable
from projectors.service import Stalled, run
from runtime.clock import SystemClock
from runtime.logs import configure
from runtime.metrics.registry import Metrics
from runtime.randomness import unseeded
from runtime.settings import Settings, load
from runtime.topic_admin import require_topics
from schemas.errors import Misconfigured

P = TypeVar("P")


def build() -> typer.Typer:
    """The commands below `roomkeeper projectors`."""
    app = typer.Typer(no_args_is_help=True)
    app.callback()(_group)
    app.command("run")(_run)
    app.command("rebuild")(_rebuild)
    return app


def projections(settings: Settings) -> Mapping[str, Projection[Any]]:
    """Every projection by name."""
    from projectors.dead_letters import LedgerProjection

    ledger = LedgerProjection(
        topic_prefix=settings.kafka.topic_prefix, held_after_returns=settings.dead_letters.held_after_returns
    )
    return {**rebuildable(), ledger.name: ledger}


def rebuildable() -> Mapping[str, Rebuildable[Any]]:
    """Every projection that can be made from a changelog, by name."""
    from projectors.meetings import MeetingsProjection
    from projectors.rooms import RoomsProjection

    found: tuple[Rebuildable[Any], ...] = (MeetingsProjection(), RoomsProjection())
    return {each.name: each for each in found}


def _group() -> None:
    """Keep PostgreSQL equal to the events."""


Only = Annotated[list[str] | None, typer.Option(help="This projection alone; may be repeated.")]


def _run(only: Only = None) -> None:
    """Run the projectors until SIGTERM or Ctrl-C; any number of processes share the partitions."""
    settings = load()
    wanted = _chosen(projections(settings), only)
    clock = SystemClock(settings.clock.shift_seconds)
    configure(settings.log, role="projectors", clock=clock)
    stop = Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    try:
        run(settings, wanted, stop=stop, metrics=Metrics(), clock=clock, random=unseeded())
    except Stalled as error:
        # Its thread may never end, and would keep the process from ending.
        structlog.get_logger().critical("projectors.stalled", cause=str(error))
        os._exit(1)


def _rebuild(only: Only = None) -> None:
    """Write all rows anew from the changelogs alone, beside whatever runs; exit 1 when an entry was refused."""
    from projectors.rebuild import rebuild

    wanted = _chosen(rebuildable(), only)
    settings = load()
    require_topics(settings, "projectors")
    table = Table("projection", "entries", "refused", "first refused")
    with Progress(console=Console(stderr=True), transient=True) as progress:
        done = [rebuild(each, settings, advance=_bar(progress, each.name)) for each in wanted]
    for each in done:
        first = next((f"{bad.consumed.partition}/{bad.consumed.offset}: {bad.error}" for bad in each.refused), "")
        table.add_row(each.projection, str(each.entries), str(len(each.refused)), first)
    Console().print(table)
    if any(each.refused for each in done):
        raise typer.Exit(1)


def _bar(progress: Progress, name: str) -> Callable[[int, int], None]:
    task = progress.add_task(name, total=None)

    def advance(count: int, total: int) -> None:
        progress.update(task, advance=count, total=total)

    return advance


def _chosen(known: Mapping[str, P], only: list[str] | None) -> list[P]:
    unknown = sorted(set(only or ()) - known.keys())
    if unknown:
        raise Misconfigured(f"--only: there is no projection {', '.join(unknown)}, but {', '.join(known)}")
    return [known[name] for name in only or known]
