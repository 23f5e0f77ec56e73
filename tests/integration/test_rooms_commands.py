"""`roomkeeper rooms` as an operator runs it in a pipe: JSON lines, exit codes, and what it does to the queue."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
import structlog
from rich.console import Console

from reconciler.rooms.tables import print_requests
from roomkeeper.cli import main
from runtime.environment import environment_for_children
from runtime.settings import Settings
from simulator.faults import Kind
from tests.command_plane import Plane, command_plane
from tests.ingress import prepared
from tests.simulated_zoom import ACCOUNT
from tests.zoom_calls import gateway_account, order

Run = Callable[..., tuple[int, list[dict[str, Any]], str]]


@pytest.fixture
def plane(settings: Settings) -> Iterator[Plane]:
    """A command plane whose account has a gateway to the simulator in the settings."""
    with command_plane(settings) as made:
        account = gateway_account(made.zoom.address)
        made.settings = prepared(settings, account)
        yield made


@pytest.fixture
def run(plane: Plane, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs `roomkeeper rooms ...`; gives exit code, JSON lines of the output, and the words of the error."""
    for name, value in environment_for_children(plane.settings).items():
        monkeypatch.setenv(name, value)

    def rooms(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["rooms", *arguments])
        out, err = capfd.readouterr()
        code = ended.value.code
        return code if isinstance(code, int) else 0, [json.loads(line) for line in out.splitlines()], err

    yield rooms
    structlog.reset_defaults()  # a command logs to what was its standard error


def fail(plane: Plane) -> None:
    """The meeting's create fails for a reason that may pass."""

    async def work() -> None:
        async with plane.worker() as worker:
            await worker.run_once()

    order(plane.zoom, Kind.ERROR, "create", count=4, status=503, message="Try later.")
    asyncio.run(work())


def test_what_waits_is_listed_with_its_next_attempt_and_the_reason(plane: Plane, run: Run) -> None:
    """`list` and `show` tell when it is tried again and what Zoom said."""
    plane.create()
    fail(plane)
    _, (row,), _ = run("list", "--account", ACCOUNT.account_id)
    _, (shown,), _ = run("show", row["provider_key"])
    assert (row["condition"], row["action"], row["error_message"]) == ("unknown", "create", "Try later.")
    assert row["next_attempt_at"] is not None
    assert (shown["meeting"]["room_status"], shown["requests"]) == ("pending", [row])


def test_a_table_is_for_people() -> None:
    """On a terminal the same is a table that names the next attempt and Zoom's reason."""
    out = StringIO()
    names = ("provider_key", "condition", "next_attempt_at", "attempts", "outcome", "error_code", "error_message")
    row = dict.fromkeys(names) | {"provider_key": "m:create:1", "error_message": "[Busy]"}
    print_requests([row], console=Console(file=out, force_terminal=True, width=200))
    assert all(word in out.getvalue() for word in ("next attempt at", "Zoom's reason", "m:create:1", "[Busy]"))


def test_paused_resumed_retried_and_drained(plane: Plane, run: Run) -> None:
    """A paused account is not worked on; resumed and retried by hand it is drained at once; the audit has all of it."""
    plane.create()
    fail(plane)
    meeting = plane.meeting.meeting_id
    run("pause", ACCOUNT.account_id, "--creates", "--reason", "maintenance")
    retried = run("retry", meeting, "--reason", "asked for")
    paused = run("drain", "--once")
    resumed = run("resume", ACCOUNT.account_id)
    drained = run("drain", "--once")
    verbs = plane.rows("SELECT verb, target, reason FROM audit ORDER BY audit_id")
    assert (retried[1][0]["done"].startswith("1 of 1 requests"), resumed[1][0]["lifted"]) == (True, 1)
    assert [(code, lines[0]["worked_on"], lines[0]["waiting"]) for code, lines, _ in (paused, drained)] == [
        (0, 0, 1),
        (0, 1, 1),
    ]
    assert verbs == [
        ("rooms.pause", f"{ACCOUNT.account_id}:creates", "maintenance"),
        ("rooms.retry", meeting, "asked for"),
        ("rooms.resume", ACCOUNT.account_id, None),
    ]


def test_what_is_not_there_is_said_in_a_line(run: Run) -> None:
    """Exit code 2 and one line that names it."""
    wrong = (
        ("show", "0b0e0000-0000-5000-8000-000000000000"),
        ("retry", "nothing"),
        ("list", "--meeting", "x"),
        ("pause", "nobody"),
        ("resume", "nobody"),
        ("drain",),
    )
    told = [run(*arguments) for arguments in wrong]
    assert [(code, lines, len(err.splitlines())) for code, lines, err in told] == [(2, [], 1)] * len(wrong)
    assert all(err.startswith("roomkeeper: ") for _, _, err in told)
