"""`roomkeeper poll`: find what webhooks never told, and say what is known of a room."""

from __future__ import annotations

from typing import Annotated

import typer

from reconciler.poller.output import show_explanation, show_pass
from runtime.clock import SystemClock
from runtime.logs import configure
from runtime.settings import Settings, load


def build() -> typer.Typer:
    """The commands of `roomkeeper poll`."""
    app = typer.Typer(no_args_is_help=True)
    app.callback(invoke_without_command=True)(_group)
    app.command("run")(_run)
    app.command("explain")(_explain)
    return app


def _group(
    context: typer.Context,
    *,
    once: Annotated[bool, typer.Option("--once", help="One pass now, and its report.")] = False,
) -> None:
    """Ask Zoom about what its webhooks never told."""
    if once and context.invoked_subcommand is not None:
        raise typer.BadParameter("goes with no further command", param_hint="--once")
    if once:
        from reconciler.poller.service import run_once

        settings, clock = _prepared()
        show_pass(run_once(settings, clock=clock))
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _run() -> None:
    """Make a pass every five minutes, until SIGTERM or Ctrl-C; of any number of processes one leads."""
    from reconciler.poller.service import run

    settings, clock = _prepared()
    run(settings, clock=clock)


def _explain(
    room: Annotated[str, typer.Argument(help="Zoom's meeting number.")],
    *,
    account: Annotated[
        str | None, typer.Option("--account", help="The account, where several know the number.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, also on a terminal.")] = False,
) -> None:
    """What the poller knows of a room, which rules hold, when it was asked about, and what would be asked."""
    from reconciler.poller.explaining import explain

    settings, clock = _prepared()
    show_explanation(explain(settings, room, account_id=account, clock=clock), as_json=as_json)


def _prepared() -> tuple[Settings, SystemClock]:
    settings = load()
    clock = SystemClock(shift_seconds=settings.clock.shift_seconds)
    configure(settings.log, role="poller", clock=clock)
    return settings, clock
