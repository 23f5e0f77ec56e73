"""The command line: one program whose commands come from the roles and are imported only when they are asked for.

This is every process's outermost frame: an error of one of the four families ends it with one clear line and the exit
code of the family; so does a disk that is full or a file that may not be used. Anything else is a fault of ours, ends
it with its traceback, and exits 1.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from runtime.garbage import collect_seldom
from schemas.errors import BadMessage, Misconfigured, RoomkeeperError, Unavailable

BROKEN, MISCONFIGURED, UNAVAILABLE, BAD_MESSAGE = 1, 2, 3, 4
"""Exit codes, by family of errors."""

_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR}
"""Errors of the operating system that whoever runs the command can do something about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One command and the module whose `build()` makes it."""

    module: str
    help: str
    alone: bool = False
    """Whether the module gives the command itself, and not a group of commands below this name."""


COMMANDS = {
    "demo": Entry(
        module="roomkeeper.demo.command", help="A day of meetings with faults, and how it came out.", alone=True
    ),
    "up": Entry(
        module="roomkeeper.up", help="Run broker, database, simulator and all roles on this machine.", alone=True
    ),
    "stack": Entry(module="roomkeeper.backing_command", help="Run a broker and a database only.", alone=True),
    "ingress": Entry(module="ingress.cli", help="Take webhooks and requests over HTTP."),
    "streams": Entry(module="streams.cli", help="Fold commands and webhooks into events."),
    "projectors": Entry(module="projectors.cli", help="Keep PostgreSQL equal to the events."),
    "rooms": Entry(module="reconciler.cli", help="Make Zoom's rooms what the meetings want."),
    "poll": Entry(module="reconciler.poller.cli", help="Ask Zoom about what its webhooks never told."),
    "outbox": Entry(module="reconciler.outbox.cli", help="Take commands from tables in callers' databases."),
    "dlq": Entry(module="reconciler.dlq.cli", help="See dead letters, and put them back."),
    "simulate": Entry(module="simulator.cli", help="Be a Zoom that can fail.", alone=True),
    "topics": Entry(module="roomkeeper.topics_command", help="Compare and make Kafka's topics."),
    "db": Entry(module="roomkeeper.database_command", help="Bring the database to this version's shape."),
    "config": Entry(module="roomkeeper.config_command", help="Show the settings, secrets masked.", alone=True),
    "keys": Entry(module="ingress.keys_cli", help="Make, list and revoke API keys."),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    collect_seldom()  # imports make objects that stay: looking for dead ones took a tenth of a start
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        compose(given)(given, prog_name="roomkeeper")
    except RoomkeeperError as error:
        _end(error)
    except ExceptionGroup as group:  # what ended tasks that ran side by side
        if (first := _first_of(group)) is None:
            raise
        _end(first)
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            raise
        typer.echo(f"roomkeeper: {error.filename or 'a file'}: {error.strerror}", err=True)
        sys.exit(UNAVAILABLE)


def _end(error: RoomkeeperError) -> NoReturn:
    typer.echo(f"roomkeeper: {error}", err=True)
    sys.exit(exit_code(error))


def _first_of(group: ExceptionGroup[Exception]) -> RoomkeeperError | None:
    """The first error of a group of the four families' alone; None where something else is among them."""
    found: Exception = group
    while isinstance(found, ExceptionGroup):
        found = found.exceptions[0]
    return found if isinstance(found, RoomkeeperError) and group.split(RoomkeeperError)[1] is None else None


def compose(arguments: Sequence[str]) -> typer.Typer:
    """The program for these arguments: the command they name is real, the others only say what they are for."""
    app = typer.Typer(
        help="Keeps meetings and their Zoom rooms in step.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,  # its frames would print secrets
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    for name, entry in COMMANDS.items():
        if name != wanted:
            app.command(name, help=entry.help)(_named)
        elif entry.alone:
            app.add_typer(import_module(entry.module).build())
        else:
            app.add_typer(import_module(entry.module).build(), name=name, help=entry.help)
    return app


def exit_code(error: RoomkeeperError) -> int:
    """The exit code of an error's family."""
    if isinstance(error, Misconfigured):
        return MISCONFIGURED
    if isinstance(error, Unavailable):
        return UNAVAILABLE
    return BAD_MESSAGE if isinstance(error, BadMessage) else BROKEN


def _version(asked: bool) -> None:
    if asked:
        typer.echo(version("roomkeeper"))
        raise typer.Exit


def _root(
    *, _: Annotated[bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_version)] = False
) -> None:
    """Options of the program itself."""


def _named() -> None:
    """Stands for a command that was not asked for."""
