"""`roomkeeper topics`: what the cluster's topics are beside what `topics.yaml` declares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from runtime.settings import load as load_settings
from runtime.topic_admin import TopicAdmin
from runtime.topic_plan import Step, complaint
from runtime.topics import Catalogue, load
from schemas.errors import Misconfigured

File = Annotated[Path | None, typer.Option("--file", help="Another catalogue than the one that comes with Roomkeeper.")]
_STYLES = {"create": "green", "alter": "yellow", "keep": "dim", "refuse": "red"}


def build() -> typer.Typer:
    """The commands below `roomkeeper topics`."""
    app = typer.Typer(no_args_is_help=True)
    app.command("plan")(_plan)
    app.command("apply")(_apply)
    app.command("check")(_check)
    return app


def _plan(file: File = None) -> None:
    """Show what `apply` would do: a table on a terminal, a JSON line per topic in a pipe."""
    _show(_steps(load(file)))


def _apply(file: File = None) -> None:
    """Create what is missing and set what differs; exit 2 when a topic has another partition count."""
    catalogue = load(file)
    admin = TopicAdmin(load_settings().kafka)
    steps = admin.plan(catalogue)
    admin.apply(steps)
    _show(steps)
    _refuse(admin.plan(catalogue))


def _check(file: File = None) -> None:
    """Exit 0 when roles may start on these topics, 2 when not, saying why."""
    _refuse(_steps(load(file)))


def _steps(catalogue: Catalogue) -> tuple[Step, ...]:
    return TopicAdmin(load_settings().kafka).plan(catalogue)


def _refuse(steps: tuple[Step, ...]) -> None:
    problem = complaint(steps)
    if problem is not None:
        raise Misconfigured(problem)


def _show(steps: tuple[Step, ...]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        for step in steps:
            typer.echo(json.dumps({"topic": step.topic, "action": step.action, "why": step.why}))
        return
    table = Table("topic", "partitions", "action", "why")
    for step in steps:
        table.add_row(
            step.topic, str(step.wanted.partitions), f"[{_STYLES[step.action]}]{step.action}", step.why or "as declared"
        )
    console.print(table)
