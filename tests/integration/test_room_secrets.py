"""Secrets of rooms, tokens and apps stay out of topics, tables and logs (ZC33)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulator.faults import Kind
from tests.command_plane import Plane
from tests.simulated_zoom import ACCOUNT
from tests.zoom_calls import order


async def test_nothing_secret_is_kept_or_told(plane: Plane, capfd: pytest.CaptureFixture[str]) -> None:
    """After a create, an update and a refusal that echoes the token, no start link, passcode, token or secret is anywhere."""
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
        (token, *_) = plane.zoom.service.tokens.all()
        echo = f"Validation Failed. authorization: Bearer {token} https://example.com/s/1?zak=SECRETZAK"
        order(plane.zoom, Kind.ERROR, "update", status=400, code=300, message=echo)
        plane.put(plane.caller.change(topic="Other"))
        await worker.run_once()
        plane.deliver()
    secrets = plane.zoom.control("GET", "/secrets")
    hidden = {secret for kind in secrets.values() for secret in kind} | {ACCOUNT.client_secret, "SECRETZAK", "Bearer "}
    hidden |= {f'"{room.details.password}"' for room in plane.rooms()}
    written = b"".join(record.value or b"" for record in plane.sent.records).decode("utf-8", errors="replace")
    kept = "".join(_everything(plane))
    out, err = capfd.readouterr()
    assert plane.meeting.problem is not None
    assert (plane.meeting.problem.code, plane.meeting.room is not None) == ("300", True)
    assert [secret for secret in hidden if secret in written + kept + out + err] == []
    assert plane.meeting.room is not None
    assert plane.meeting.room.join_url in written


def _everything(plane: Plane) -> Iterator[str]:
    tables = plane.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
    for (table,) in tables:
        for row in plane.connection.execute(f'SELECT * FROM "{table}"'):
            yield " ".join(
                bytes(value).decode("utf-8", errors="replace") if isinstance(value, bytes | memoryview) else str(value)
                for value in row.values()
            )
