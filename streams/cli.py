"""`roomkeeper streams`: the command line of the workers and their state."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import orjson
import typer

from runtime import logs
from runtime.clock import SystemClock
from runtime.metrics.registry import Metrics
from runtime.metrics.server import serving
from runtime.settings import load

TableOption = Annotated[str | None, typer.Option(help="One table; by default all of them.")]


def build() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(no_args_is_help=True)
    app.callback()(_group)
    app.command("run")(run)
    app.command("rebuild-state")(rebuild_state)
    app.command("inspect")(inspect)
    app.command("refold")(refold)
    return app


def _group() -> None:
    """Fold commands and webhooks into events."""


def run() -> None:
    """Work until told to stop; exits 0 then, and otherwise with the reason's exit code."""
    from runtime.topic_admin import require_topics
    from streams.folds import folds
    from streams.metrics import MetricsObserver
    from streams.runner import run as run_worker

    settings = load()
    clock = SystemClock(settings.clock.shift_seconds)
    logs.configure(settings.log, role="streams", clock=clock)
    metrics = Metrics()
    with serving(metrics, settings.metrics):
        code = asyncio.run(
            run_worker(
                settings,
                folds(),
                clock=clock,
                observer=MetricsObserver(metrics, clock=clock),
                check=partial(require_topics, settings, "streams"),
            )
        )
    raise typer.Exit(code)


def rebuild_state(
    table: TableOption = None,
    sample: Annotated[int, typer.Option(min=1, help="Compare one key in so many with the changelog.")] = 50,
) -> None:
    """Wipe this worker's state on the disk and restore it from the changelogs; the worker must not run."""
    from streams.folds import folds
    from streams.state.rebuild import rebuild
    from streams.state.tables import choose, partitions_of

    settings = load()
    partitions = partitions_of(settings, choose(folds(), table))
    rebuilt = rebuild(settings, partitions, sample=sample)
    typer.echo(
        f"{rebuilt.partitions} partitions restored from {rebuilt.records} changelog records; "
        f"{rebuilt.compared} entries compared, all equal"
    )


def inspect(
    key: Annotated[str, typer.Option(help="Key of an entry, as account|meeting; entries below it are shown too.")],
    table: TableOption = None,
    *,
    changelog: Annotated[bool, typer.Option(help="Read the changelogs instead of this disk.")] = False,
) -> None:
    """Show the state of one key as JSON, and how a room reads now."""
    from streams.folds import folds
    from streams.state.as_json import report
    from streams.state.inspect import find_in_changelogs, find_on_disk
    from streams.state.tables import choose, partitions_of

    settings = load()
    clock = SystemClock(settings.clock.shift_seconds)
    partitions = partitions_of(settings, choose(folds(), table))
    found = find_in_changelogs(settings, partitions, key) if changelog else find_on_disk(partitions, key)
    typer.echo(orjson.dumps(report(found, now=clock.now()), option=orjson.OPT_INDENT_2).decode())
    if not found:
        where = "in the changelogs" if changelog else "on this disk; --changelog asks the cluster"
        typer.echo(f"nothing is kept under {key} {where}", err=True)
        raise typer.Exit(1)


def refold(
    table: Annotated[str, typer.Option(help="Whose history is folded again: rooms or meetings.")],
    since: Annotated[
        datetime | None, typer.Option(help="From this moment on (UTC); by default all that is kept.")
    ] = None,
    *,
    anew: Annotated[bool, typer.Option(help="Forget present entries that are touched; old facts may be lost.")] = False,
    yes: Annotated[bool, typer.Option(help="Do it; without this only say what would be done.")] = False,
) -> None:
    """Fold history again after a bug, under a higher generation; no worker may run."""
    from streams.folds import folds
    from streams.state.refold import apply, plan
    from streams.state.tables import choose, partitions_of

    settings = load()
    moment = since.replace(tzinfo=UTC) if since is not None else None
    refolds = plan(settings, partitions_of(settings, choose(folds(), table)), since=moment, anew=anew)
    records = sum(each.records for each in refolds)
    if yes:
        apply(settings, refolds)
    doing = "come again" if yes else "would come again (add --yes)"
    typer.echo(
        f"{records} records of {len(refolds)} partitions {doing}, as generation {refolds[0].bookmark.generation}"
    )
