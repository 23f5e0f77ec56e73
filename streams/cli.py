"""`roomkeeper streams`: the command line of the workers and their state."""

from __future__ import annotations

import asyncio
from functools import partial

import typer

from runtime import logs
from runtime.clock import SystemClock
from runtime.metrics.registry import Metrics
from runtime.metrics.server import serving
from runtime.settings import load


def build() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(no_args_is_help=True)
    app.callback()(_group)
    app.command("run")(run)
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
