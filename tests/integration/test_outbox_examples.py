"""The examples of `docs/outbox.md`, as they stand there, against a real PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg import IntegrityError
from psycopg.conninfo import conninfo_to_dict

from reconciler.outbox.relay import Relay
from reconciler.outbox.service import install
from runtime.clock import SystemClock
from runtime.postgres import AsyncDatabase, Connection, connect
from runtime.settings import Settings
from schemas.codec import decode
from schemas.ids import AccountId, meeting_id_for
from schemas.records.meeting_commands import CreateMeeting
from tests.command_plane import Sent

PAGE = Path(__file__).parents[2] / "docs" / "outbox.md"
ACCOUNT = "acc0000000000000000001"
START = "2027-03-20T09:00:00"


@pytest.fixture
def caller(settings: Settings) -> Iterator[Connection]:
    """A caller's own database, with a table of its own and the outbox in it."""
    install(settings.postgres)
    with connect(settings.postgres, role="caller", autocommit=True) as connected:
        connected.execute("CREATE TABLE bookings (name text PRIMARY KEY)")
        yield connected


def example(heading: str) -> Callable[..., None]:
    """The function `book` of the example under a heading of the page."""
    found = re.search(
        rf"^## {heading}\n\n```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert found is not None
    names: dict[str, Any] = {"__name__": f"example_{heading.lower()}"}
    exec(compile(found[1], f"{PAGE.name}: {heading}", "exec"), names)  # noqa: S102 - our own documentation
    book: Callable[..., None] = names["book"]
    return book


async def asked_for(settings: Settings) -> list[CreateMeeting]:
    """What the relay makes of the rows that are there."""
    sent = Sent()
    async with AsyncDatabase(settings.postgres, role="relay") as database:
        clock = SystemClock()
        await Relay(database, sender=sent, name="bookings", account_id=ACCOUNT, clock=clock, topic_prefix="").run_once()
    return [decode(record.value, CreateMeeting) for record in sent.records]


async def check(settings: Settings, caller: Connection, book: Callable[[str], None], refusal: type[Exception]) -> None:
    """A booking asks for its meeting; one that fails asks for none."""
    book("Planning")
    with pytest.raises(refusal):
        book("Planning")
    (command,) = await asked_for(settings)
    booked = [row["name"] for row in caller.execute("SELECT name FROM bookings")]
    assert (booked, command.details.topic, command.details.start_at.isoformat()) == (
        ["Planning"],
        "Planning",
        "2027-03-20T08:00:00+00:00",
    )
    assert command.meeting_id == meeting_id_for(AccountId(ACCOUNT), "Planning")


async def test_psycopg(settings: Settings, caller: Connection) -> None:
    """Booking and row in one transaction."""
    book = example("psycopg")
    await check(settings, caller, lambda name: book(caller, name, START), IntegrityError)


async def test_sqlalchemy(settings: Settings, caller: Connection) -> None:
    """The same in a session."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import IntegrityError as Refused
    from sqlalchemy.orm import Session

    engine = create_engine("postgresql+psycopg://", creator=lambda: _plain(settings))
    book = example("SQLAlchemy")

    def in_session(name: str) -> None:
        with Session(engine) as session:
            book(session, name, START)

    try:
        await check(settings, caller, in_session, Refused)
    finally:
        engine.dispose()


async def test_django(settings: Settings, caller: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with models."""
    import django
    from django.conf import settings as configured
    from django.db import IntegrityError as Refused
    from django.db import connections

    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # the test runs in an event loop, the example need not
    configured.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", **_django(settings)}})
    django.setup()
    book = example("Django")
    try:
        await check(settings, caller, lambda name: book(name, START), Refused)
    finally:
        connections.close_all()


def _plain(settings: Settings) -> Any:
    """A connection as SQLAlchemy wants it."""
    import psycopg

    return psycopg.connect(_dsn(settings))


def _dsn(settings: Settings) -> str:
    assert settings.postgres.dsn is not None
    return settings.postgres.dsn.get_secret_value()


def _django(settings: Settings) -> dict[str, Any]:
    named = conninfo_to_dict(_dsn(settings))
    return {
        "NAME": named["dbname"],
        "USER": named["user"],
        "PASSWORD": named.get("password", ""),
        "HOST": named["host"],
        "PORT": named["port"],
    }
