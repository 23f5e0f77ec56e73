"""What the commands print: a table on a terminal, JSON lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from reconciler.dlq.jobs import JobProgress
from reconciler.dlq.ledger import Group
from reconciler.dlq.letters import Letter
from reconciler.dlq.verify import Verdict

_STYLES = {"open": "yellow", "held": "red", "replayed": "green", "discarded": "dim", "expired": "dim"}


def plain(*, as_json: bool) -> bool:
    """Whether JSON lines are wanted: asked for, or nobody is there to look."""
    return as_json or not Console().is_terminal


def line(value: Any) -> None:
    """One JSON line."""
    typer.echo(orjson.dumps(value, default=str).decode())


def show_letters(letters: Iterable[Letter], *, as_json: bool) -> None:
    """Dead letters, streamed when they are JSON."""
    if plain(as_json=as_json):
        for each in letters:
            line(each.as_plain())
        return
    table = Table("id", "from", "key", "stage", "error", "failed at", "times", "status")
    for each in letters:
        status = f"[{_STYLES[each.status]}]{each.status}"
        error = f"{each.error_class}: {each.error_message[:60]}"
        times = str(each.attempt)
        table.add_row(
            str(each.letter_id),
            each.origin,
            each.key_text or "",
            each.stage,
            error,
            when(each.failed_at),
            times,
            status,
        )
    Console().print(table)


def stats_table(groups: Sequence[Group], *, now: datetime) -> Table:
    """How many of each kind."""
    table = Table("status", "stage", "error", "topic", "messages", "oldest", "newest", title="dead letters")
    for each in groups:
        oldest, newest = age(now - each.first_at), age(now - each.last_at)
        status = f"[{_STYLES[each.status]}]{each.status}"
        table.add_row(status, each.stage, each.error_class, each.topic, f"{each.count:,}", oldest, newest)
    return table


def show_jobs(jobs: Sequence[JobProgress], *, as_json: bool) -> None:
    """Replays."""
    if plain(as_json=as_json):
        for each in jobs:
            line(asdict(each))
        return
    table = Table("job", "status", "sent", "came back", "began", "ended", "by", "filters")
    for each in jobs:
        ended = when(each.ended_at) if each.ended_at else ""
        filters = ", ".join(f"{name}={value}" for name, value in each.filters.items()) or "all"
        numbers = (f"{each.sent:,}", f"{each.returned:,}")
        table.add_row(each.job, each.status, *numbers, when(each.created_at), ended, each.created_by, filters)
    Console().print(table)


def show_verdicts(verdicts: Sequence[Verdict], *, as_json: bool) -> None:
    """What became of a replay."""
    if plain(as_json=as_json):
        for each in verdicts:
            found = {"read": each.read, "projected": each.projected, "reached": each.reached, "pending": each.pending}
            line(asdict(each.target) | found)
        return
    table = Table("sent to", "messages", "reached", "came back", "pending", "read", "projected")
    for each in verdicts:
        target = each.target
        yes_no = ("yes" if each.read else "not yet", "yes" if each.projected else "not yet")
        counts = [f"{count:,}" for count in (target.sent, each.reached, target.returned, each.pending)]
        table.add_row(f"{target.topic}/{target.partition}", *counts, *yes_no)
    Console().print(table)


def when(at: datetime) -> str:
    """A time for people."""
    return f"{at:%Y-%m-%d %H:%M:%S}"


def age(since: Any) -> str:
    """A length of time in its greatest unit."""
    seconds = max(0, round(since.total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
