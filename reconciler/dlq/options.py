"""What the commands of `roomkeeper dlq` share: options, surroundings, and asking before much changes."""

from __future__ import annotations

import getpass
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from reconciler.dlq.ledger import Ledger
from reconciler.dlq.letters import EVERY, WAITING, Letter, Status
from runtime.cipher import Cipher
from runtime.clock import SystemClock
from runtime.postgres import connect
from runtime.settings import Settings, load
from schemas.errors import Misconfigured

NOT_AS_WISHED, NOT_CONFIRMED = 1, 5
"""Exit codes beside those of the families of errors: something is not as wished; nobody said yes."""

Held = Annotated[bool, typer.Option("--held", help="Those that came back too often, too.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Actor = Annotated[str | None, typer.Option(help="Who does this, for the audit; by default the login name.")]
StatusOption = Annotated[str, typer.Option(help=f"waiting, all, or one of {', '.join(EVERY)}.")]

_AGO = re.compile(r"(?P<number>\d+)(?P<unit>[smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a command works with."""

    settings: Settings
    ledger: Ledger
    clock: SystemClock
    actor: str

    def opened(self, letter: Letter, value: bytes) -> bytes:
        """The value of a letter as it came.

        Raises:
            BadMessage: it is sealed with a key that is not held.
            Misconfigured: it is sealed, and no key is set.
        """
        return Cipher(self.settings.security.encryption_keys).open(value) if letter.sealed else value


@contextmanager
def desk(actor: str | None = None) -> Iterator[Desk]:
    """A connection to the ledger for one command."""
    settings = load()
    clock = SystemClock(settings.clock.shift_seconds)
    who = actor or getpass.getuser()
    with connect(settings.postgres, role="dlq", autocommit=True) as connection:
        yield Desk(settings=settings, ledger=Ledger(connection, actor=who, clock=clock), clock=clock, actor=who)


def moment(text: str | None, *, now: datetime) -> datetime | None:
    """The time that an option means.

    Raises:
        Misconfigured: it is none.
    """
    if text is None:
        return None
    if ago := _AGO.fullmatch(text):
        return now - timedelta(seconds=int(ago["number"]) * _UNITS[ago["unit"]])
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise Misconfigured(f"{text}: must be a time such as 2026-03-01T12:00, or 30m, 12h, 7d") from error
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def statuses(name: str) -> tuple[Status, ...]:
    """The statuses that an option means.

    Raises:
        Misconfigured: it is none.
    """
    if name in ("waiting", "all"):
        return WAITING if name == "waiting" else EVERY
    found = tuple(each for each in EVERY if each == name)
    if not found:
        raise Misconfigured(f"--status {name}: must be waiting, all, or one of {', '.join(EVERY)}")
    return found


def confirm(count: int, *, above: int, yes: bool, doing: str) -> None:
    """Go on, unless there are more than `above` and nobody says yes."""
    if yes or count <= above:
        return
    if sys.stdin.isatty():
        if not typer.confirm(f"{doing} {count} dead letters?"):
            raise typer.Exit(NOT_CONFIRMED)
    else:
        typer.echo(f"roomkeeper: would {doing} {count} dead letters, more than {above}: add --yes", err=True)
        raise typer.Exit(NOT_CONFIRMED)
