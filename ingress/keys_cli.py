"""`roomkeeper keys`: API keys, and the keys that protect what is kept."""

from __future__ import annotations

import getpass
import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ingress.keys import NAME_CHARS, ApiKey, create_key, list_keys, revoke_key
from runtime.cipher import new_key
from runtime.clock import SystemClock
from runtime.postgres import connect, translated
from runtime.settings import Settings, load
from schemas.errors import Misconfigured

AccountOption = Annotated[
    str | None, typer.Option("--account", help="Zoom account; may be left out when there is one.")
]
ActorOption = Annotated[
    str | None, typer.Option("--actor", help="Who does this, for the audit; by default the login name.")
]


def build() -> typer.Typer:
    """The commands below `roomkeeper keys`."""
    app = typer.Typer(no_args_is_help=True)
    app.command("create")(_create)
    app.command("list")(_list)
    app.command("revoke")(_revoke)
    app.command("new-encryption-key")(_new_encryption_key)
    return app


def _create(
    name: Annotated[str, typer.Option("--name", help="What the key is for.")],
    account: AccountOption = None,
    actor: ActorOption = None,
) -> None:
    """Make a key for one account and print it: nobody can read it again."""
    settings = load()
    if not 0 < len(name) <= NAME_CHARS or not name.isprintable():
        raise Misconfigured(f"--name: must be 1 to {NAME_CHARS} printable characters")
    account_id = _account(settings, account)
    now = SystemClock(shift_seconds=settings.clock.shift_seconds).now()
    with connect(settings.postgres, role="keys") as connection, translated("create a key"):
        typer.echo(create_key(connection, account_id=account_id, name=name, actor=actor or _login(), at=now))


def _list(account: AccountOption = None) -> None:
    """Show keys: a table on a terminal, a JSON line per key in a pipe."""
    settings = load()
    with connect(settings.postgres, role="keys") as connection, translated("list keys"):
        keys = list_keys(connection, account_id=account)
    console = Console(highlight=False)
    if not console.is_terminal:
        for key in keys:
            typer.echo(json.dumps(_plain(key)))
        return
    table = Table("key", "account", "name", "created", "revoked")
    for key in keys:
        table.add_row(key.key_id, key.account_id, key.name, str(key.created_at), str(key.revoked_at or ""))
    console.print(table)


def _revoke(
    key_id: Annotated[str, typer.Argument(help="The key's id, as `keys list` shows it.")],
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the audit.")] = None,
    actor: ActorOption = None,
) -> None:
    """Take a key out of force; within seconds nobody takes it any more."""
    settings = load()
    now = SystemClock(shift_seconds=settings.clock.shift_seconds).now()
    with connect(settings.postgres, role="keys") as connection, translated("revoke a key"):
        if not revoke_key(connection, key_id=key_id, actor=actor or _login(), reason=reason, at=now):
            raise Misconfigured(f"{key_id}: there is no such key in force; `roomkeeper keys list` shows them")
    typer.echo(f"{key_id} is revoked")


def _new_encryption_key() -> None:
    """Print a fresh key for ROOMKEEPER_SECURITY__ENCRYPTION_KEYS."""
    typer.echo(new_key())


def _account(settings: Settings, named: str | None) -> str:
    known = [account.account_id for account in settings.accounts]
    if named is None and len(known) == 1:
        return known[0]
    if named is None:
        raise Misconfigured(f"--account: say which; ROOMKEEPER_ACCOUNTS has {', '.join(known) or 'none'}")
    if known and named not in known:
        raise Misconfigured(f"--account: {named} is none of those in ROOMKEEPER_ACCOUNTS ({', '.join(known)})")
    return named


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "unknown"


def _plain(key: ApiKey) -> dict[str, str | None]:
    return {
        "key_id": key.key_id,
        "account_id": key.account_id,
        "name": key.name,
        "created_at": key.created_at.isoformat(),
        "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
    }
