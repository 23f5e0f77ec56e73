"""`roomkeeper ingress`: serve webhooks and the API."""

from __future__ import annotations

import typer

from runtime.clock import SystemClock
from runtime.logs import configure
from runtime.settings import load


def build() -> typer.Typer:
    """The commands below `roomkeeper ingress`."""
    app = typer.Typer(no_args_is_help=True)
    app.callback()(_group)
    app.command("run")(_run)
    return app


def _group() -> None:
    """Webhooks and requests over HTTP."""


def _run() -> None:
    """Serve until SIGTERM or Ctrl-C; run as many as you like."""
    from ingress.server import run

    settings = load()
    clock = SystemClock(shift_seconds=settings.clock.shift_seconds)
    configure(settings.log, role="ingress", clock=clock)
    run(settings, clock=clock)
