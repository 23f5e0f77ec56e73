"""`roomkeeper db`: the database's migrations."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

from runtime import migrate as migrations
from runtime.database_roles import grant_all
from runtime.postgres import connect, translated
from runtime.settings import load


def build() -> typer.Typer:
    """The commands below `roomkeeper db`."""
    app = typer.Typer(no_args_is_help=True)
    app.command("migrate")(_migrate)
    app.command("status")(_status)
    app.command("roles")(_roles)
    return app


def _migrate() -> None:
    """Run the migrations that have not run yet; any number of processes may do so at once."""
    console = Console(highlight=False)
    done = migrations.migrate(load().postgres)
    for migration in done:
        console.print(f"{migration}: done")
    if not done:
        console.print("nothing to do: the database has this version's shape")


def _roles() -> None:
    """Make a database role for each role, with the rights it needs and no others; run it again after `migrate`."""
    with connect(load().postgres, role="migrate") as connection, translated("give database roles their rights"):
        made = grant_all(connection)
    for name in made:
        typer.echo(f"{name}: done")
    typer.echo("let one in: ALTER ROLE NAME LOGIN PASSWORD '...'; then name it in that role's ROOMKEEPER_POSTGRES__DSN")


def _status() -> None:
    """Show what has run and what has not; exit 1 when something has not."""
    found = migrations.status(load().postgres)
    table = Table("migration", "applied at")
    for applied in found.applied:
        table.add_row(f"{applied.number:04d}_{applied.name}", f"{applied.applied_at:%Y-%m-%d %H:%M:%S} UTC")
    for pending in found.pending:
        table.add_row(str(pending), "pending")
    Console().print(table)
    if found.pending:
        raise typer.Exit(1)
