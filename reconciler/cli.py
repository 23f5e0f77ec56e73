"""`roomkeeper rooms`: make Zoom's rooms what the meetings want, and look after the requests for it."""

from __future__ import annotations

from typing import Annotated

import typer

from runtime.clock import SystemClock
from runtime.logs import configure
from runtime.settings import Settings, load
from schemas.errors import Misconfigured


def build() -> typer.Typer:
    """The commands below `roomkeeper rooms`."""
    app = typer.Typer(no_args_is_help=True)
    app.callback()(_group)
    app.command("run")(_run)
    app.command("drain")(_drain)
    app.command("list")(_list)
    app.command("show")(_show)
    app.command("retry")(_retry)
    app.command("pause")(_pause)
    app.command("resume")(_resume)
    return app


AccountOption = Annotated[str | None, typer.Option("--account", help="Of this account alone.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; kept in the audit.")]


def _group() -> None:
    """Make Zoom's rooms what the meetings want."""


def _run() -> None:
    """Work until SIGTERM or Ctrl-C; any number of processes share the work."""
    from reconciler.rooms.service import run

    settings, clock = _prepared()
    run(settings, clock=clock)


def _drain(
    *, once: Annotated[bool, typer.Option("--once", help="Required: until nothing is due, then end.")] = False
) -> None:
    """Work until nothing is due any more; for hourly and daily jobs."""
    from rich.console import Console

    from reconciler.rooms.operations import Operations
    from reconciler.rooms.service import drain
    from reconciler.rooms.tables import tell

    if not once:
        raise Misconfigured("--once: needed; `roomkeeper rooms run` is the command that stays")
    settings, clock = _prepared()
    out = Console(stderr=True)
    with out.status("Working") as shown:
        done = drain(settings, clock=clock, tell=lambda so_far: shown.update(f"Working: {so_far} requests so far"))
    with Operations(settings) as operations:
        left = operations.waiting()
    tell(
        f"{done} requests worked on; {left['waiting']} wait, the next until {left['next_attempt_at'] or 'nobody'}",
        worked_on=done,
        **left,
    )


def _list(
    *,
    account: AccountOption = None,
    meeting: Annotated[str | None, typer.Option(help="Of this meeting alone.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 100,
) -> None:
    """Requests for rooms, those that are due first."""
    from reconciler.rooms.operations import Operations
    from reconciler.rooms.tables import print_requests

    with Operations(load()) as operations:
        print_requests(operations.requests(account=account, meeting=meeting, limit=limit))


def _show(name: Annotated[str, typer.Argument(help="A meeting's id, or a provider key.")]) -> None:
    """A meeting towards Zoom: its room, its problem, its requests."""
    from reconciler.rooms.operations import Operations
    from reconciler.rooms.tables import print_meeting

    with Operations(load()) as operations:
        print_meeting(*operations.meeting(name))


def _retry(
    name: Annotated[str, typer.Argument(help="A meeting's id, or a provider key.")],
    *,
    reason: ReasonOption = "",
) -> None:
    """Try now what waits, or anew what has failed for good."""
    from reconciler.rooms.operations import Operations
    from reconciler.rooms.tables import tell

    with Operations(load()) as operations:
        done = operations.retry(name, reason=reason)
    tell(done, retried=name, done=done)


def _pause(
    account: Annotated[str, typer.Argument(help="The account.")],
    *,
    creates: Annotated[bool, typer.Option("--creates", help="New rooms alone.")] = False,
    reason: ReasonOption = "",
) -> None:
    """Call Zoom for an account no more, until it is resumed; requests wait, nothing is lost."""
    from reconciler.rooms.operations import Operations
    from reconciler.rooms.tables import tell

    scope = "creates" if creates else "account"
    with Operations(load()) as operations:
        operations.pause(account, scope=scope, reason=reason)
    tell(f"{'creates of ' if creates else ''}{account} paused until resumed", paused=account, scope=scope)


def _resume(
    account: Annotated[str, typer.Argument(help="The account.")],
    *,
    reason: ReasonOption = "",
) -> None:
    """Call Zoom for an account again, whatever had stopped it: a pause, or a limit."""
    from reconciler.rooms.operations import Operations
    from reconciler.rooms.tables import tell

    with Operations(load()) as operations:
        lifted = operations.resume(account, reason=reason)
    tell(f"{lifted} pauses lifted", resumed=account, lifted=lifted)


def _prepared() -> tuple[Settings, SystemClock]:
    settings = load()
    clock = SystemClock(shift_seconds=settings.clock.shift_seconds)
    configure(settings.log, role="rooms", clock=clock)
    return settings, clock
