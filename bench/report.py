"""How every benchmark ends: a table for people, then one JSON line for machines, on standard output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import typer
from rich.console import Console, RenderableType

from bench.environment import Environment
from schemas.errors import RoomkeeperError

_WIDTH = 160
"""Of a table that goes into a file."""

Figure = float | int | str | bool | None


def middle(values: Sequence[float]) -> float:
    """The median over the rounds."""
    return median(values)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share of the ordered values lies."""
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The median of ours over the median of theirs, None where either was not run."""
    if not ours or not theirs:
        return None
    return round(middle(ours) / middle(theirs), 3)


def rounded(value: float) -> float | int:
    """A figure with no more digits than it is worth."""
    return round(value) if abs(value) >= 100 else round(value, 3)


def publish(name: str, *, table: RenderableType, figures: Mapping[str, Figure], environment: Environment) -> None:
    """Print the table, then the line."""
    console = Console()
    if not console.is_terminal:
        console.width = _WIDTH
    console.print(table)
    line = {"bench": name, **figures, "environment": environment.as_figures()}
    console.out(json.dumps(line, ensure_ascii=False), highlight=False)


def progress(message: str) -> None:
    """Say on standard error what goes on."""
    Console(stderr=True).print(message, style="dim", highlight=False)


def run(command: Callable[..., None]) -> None:
    """Run a benchmark's command line; an error of ours is a message and exit code 1."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    try:
        app()
    except RoomkeeperError as error:
        Console(stderr=True).print(f"{type(error).__name__}: {error}", style="red", highlight=False, markup=False)
        raise SystemExit(1) from error
