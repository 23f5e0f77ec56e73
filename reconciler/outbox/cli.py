"""`roomkeeper outbox`: commands from tables in callers' own databases."""

from __future__ import annotations

import sys
from typing import Annotated

import orjson
import typer

from runtime.clock import SystemClock
from runtime.logs import configure
from runtime.settings import Outbox, Settings, load
from schemas.errors import Misconfigured


def build() -> typer.Typer:
    """The commands below `roomkeeper outbox`."""
    app = typer.Typer(no_args_is_help=True)
    app.callback()(_group)
    app.command("install")(_install)
    app.command("run")(_run)
    app.command("rejected")(_rejected)
    return app


NameArgument = Annotated[str, typer.Argument(help="Name of an outbox in ROOMKEEPER_OUTBOXES.")]


def _group() -> None:
    """Take commands from tables in callers' databases."""


def _install(
    name: NameArgument,
    *,
    show: Annotated[bool, typer.Option("--print", help="Only print the SQL, for a migration of the caller's.")] = False,
) -> None:
    """Put the outbox table into a caller's database, and nothing else."""
    from importlib.resources import files

    from reconciler.outbox.service import caller_database, install

    if show:
        typer.echo(files("reconciler.outbox").joinpath("install.sql").read_text(encoding="utf-8"))
        return
    install(caller_database(_named(load(), name)))
    typer.echo(f"the table roomkeeper_outbox is in the database of {name}")


def _run() -> None:
    """Relay every outbox until SIGTERM or Ctrl-C; any number of processes share the rows."""
    from reconciler.outbox.service import run

    settings = load()
    clock = SystemClock(shift_seconds=settings.clock.shift_seconds)
    configure(settings.log, role="outbox", clock=clock)
    run(settings, clock=clock)


def _rejected(name: NameArgument, *, limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 100) -> None:
    """Rows that could not be commands, with the reason, as JSON lines."""
    from reconciler.outbox.service import caller_database
    from runtime.postgres import connect, translated
    from runtime.queries import queries

    postgres = caller_database(_named(load(), name))
    with connect(postgres, role="outbox-operator", autocommit=True) as connection, translated("read an outbox"):
        for row in connection.execute(queries("reconciler")["list_rejected_rows"], {"rows": limit}):
            sys.stdout.write(orjson.dumps(row, default=str).decode() + "\n")


def _named(settings: Settings, name: str) -> Outbox:
    for outbox in settings.outboxes:
        if outbox.name == name:
            return outbox
    known = ", ".join(outbox.name for outbox in settings.outboxes) or "none"
    raise Misconfigured(f"ROOMKEEPER_OUTBOXES: there is no {name} (known: {known})")
