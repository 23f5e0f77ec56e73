"""The log of many processes as one: each line behind the coloured name of the process that said it."""

from __future__ import annotations

import threading

import typer

_COLORS = ("cyan", "magenta", "green", "yellow", "blue", "bright_cyan", "bright_magenta", "bright_green")
_WIDTH = 12


class JointLog:
    """A sink for the lines of a process group; colours go where there is a terminal to show them."""

    def __init__(self) -> None:
        """The first process gets the first colour."""
        self._lock = threading.Lock()
        self._colors: dict[str, str] = {}

    def say(self, text: str) -> None:
        """Print text of our own as it is, to be copied."""
        with self._lock:
            typer.echo(text)

    def __call__(self, name: str, line: str) -> None:
        """Print one line of the process `name`."""
        with self._lock:
            color = self._colors.setdefault(name, _COLORS[len(self._colors) % len(_COLORS)])
            typer.echo(f"{typer.style(f'{name:>{_WIDTH}} │', fg=color)} {line}")
