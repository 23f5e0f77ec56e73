"""`roomkeeper stack`: a broker and a database to develop against, and nothing else."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer
from rich.console import Console

from roomkeeper.embedded.backing import Backing
from roomkeeper.interruption import interruption
from runtime.environment import environment_of
from runtime.settings import load


def build() -> typer.Typer:
    """The command `roomkeeper stack`."""
    app = typer.Typer()
    app.command("stack")(_stack)
    return app


def _stack(
    *, fetch: Annotated[bool, typer.Option("--fetch", help="Only see that the programs are there, and end.")] = False
) -> None:
    """Run a broker and a database; print the settings to use them, and stop them on Ctrl-C."""
    backing = Backing(load(), durable=True)
    console = Console(highlight=False)
    if fetch:
        backing.fetch()
        console.print(f"broker: {backing.broker_source}, database: {backing.database_source}: ready to start")
        return
    with backing, interruption() as wanted:
        for variable, value in environment_of(backing.settings).items():
            console.print(f"export {variable}={shlex.quote(value)}", soft_wrap=True, markup=False)
        console.print("# running until Ctrl-C")
        while not wanted.wait(1.0):
            backing.require_running()
