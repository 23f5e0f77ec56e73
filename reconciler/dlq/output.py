"""What the commands print: a table on a terminal, JSON lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from reconciler.dlq.jobs import JobProgress
from reconciler.dlq.ledger import Group
from reconciler.dlq.letters import Letter
from reconciler.dlq.verify import Verdict

_TABLE_ROWS = 500
_ID_CHARS = 36
"""An id is what the other commands are told: it is shown whole, however narrow the terminal."""
_STYLES = {"open": "yellow", "held": "red", "replayed": "green", "discarded": "dim", "expired": "dim"}


def plain(*, as_json: bool) -> bool:
    """Whether JSON lines are wanted: asked for, or nobody is there to look."""
    return as_json or not Console().is_terminal


def line(value: Any) -> None:
    """One JSON line."""
    typer.echo(orjson.dumps(value, default=str).decode())


def _lines(values: Iterable[Any]) -> None:
    """Many JSON lines, written in blocks."""
    for each in values:
        sys.stdout.write(orjson.dumps(each, default=str, option=orjson.OPT_APPEND_NEWLINE).decode())
    sys.stdout.flush()


def tell(words: str, **values: Any) -> None:
    """What a command did: in words on a terminal, as one JSON line in a pipe."""
    if plain(as_json=False):
        line(values)
    else:
        typer.echo(words)


def show_letters(letters: Iterable[Letter], *, as_json: bool) -> None:
    """Dead letters, streamed."""
    if plain(as_json=as_json):
        _lines(each.as_plain() for each in letters)
        return
    columns = ("id, from, key, failed at", "stage, error", "times", "status")
    _tables(columns, (_letter_cells(each) for each in letters))


def show_rehearsal(letters: Iterable[Letter], refusal: Callable[[str], str | None]) -> None:
    """What would go where, streamed; `refusal` says why nothing may go back to a topic."""
    if plain(as_json=False):
        _lines(
            {
                "letter_id": each.letter_id,
                "topic": each.topic,
                "partition": each.partition,
                "key": each.key_text,
                "refused": refusal(each.topic),
            }
            for each in letters
        )
        return
    rows = ((str(each.letter_id), _target(each), each.key_text or "", refusal(each.topic) or "") for each in letters)
    _tables(("id", "to", "key", "refused"), rows)


def _target(letter: Letter) -> str:
    """Where it would go: to the partition that it came from, or where the key of the event in a body lies."""
    return letter.topic if letter.partition < 0 else f"{letter.topic}/{letter.partition}"


def _letter_cells(letter: Letter) -> Sequence[str]:
    what = escape(f"{letter.letter_id}\n{letter.origin}  {letter.key_text or ''}\n{when(letter.failed_at)}")
    why = escape(f"{letter.stage}\n{letter.error_class}: {letter.error_message[:60]}")
    return what, why, str(letter.attempt), f"[{_STYLES[letter.status]}]{letter.status}"


def _tables(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table for every so many rows: one for all of them would hold all of them."""
    console, rest, first = Console(), iter(rows), True
    while (part := list(islice(rest, _TABLE_ROWS))) or first:
        first_column, *others = (Column(name, overflow="fold") for name in columns)
        first_column.min_width = _ID_CHARS
        table = Table(first_column, *others)
        for cells in part:
            table.add_row(*cells)
        console.print(table)
        first = False


def stats_table(groups: Sequence[Group], *, now: datetime) -> Table:
    """How many of each kind."""
    names = ("messages", "last hour", "last day", "oldest", "newest")
    table = Table("status", Column("stage, error, topic", overflow="fold"), *names, title="dead letters")
    for each in groups:
        oldest, newest = age(now - each.first_at), age(now - each.last_at)
        status = f"[{_STYLES[each.status]}]{each.status}"
        counts = [f"{count:,}" for count in (each.count, each.last_hour, each.last_day)]
        table.add_row(status, escape(f"{each.stage}: {each.error_class}\n{each.topic}"), *counts, oldest, newest)
    return table


def show_jobs(jobs: Sequence[JobProgress], *, as_json: bool) -> None:
    """Replays."""
    if plain(as_json=as_json):
        for each in jobs:
            line(asdict(each))
        return
    names = ("status", "sent", "came back", "began", "ended", "by")
    table = Table(Column("job", overflow="fold"), *names, Column("filters", overflow="fold"))
    for each in jobs:
        ended = when(each.ended_at) if each.ended_at else ""
        filters = ", ".join(f"{name}={value}" for name, value in each.filters.items()) or "all"
        numbers = (f"{each.sent:,}", f"{each.returned:,}")
        by = escape(each.created_by)
        table.add_row(escape(each.job), each.status, *numbers, when(each.created_at), ended, by, escape(filters))
    Console().print(table)


def show_verdicts(verdicts: Sequence[Verdict], *, as_json: bool) -> None:
    """What became of a replay."""
    if plain(as_json=as_json):
        for each in verdicts:
            found = {"read": each.read, "projected": each.projected, "reached": each.reached, "pending": each.pending}
            line(asdict(each.target) | found)
        return
    names = ("messages", "reached", "came back", "pending", "read", "projected")
    table = Table(Column("sent to", overflow="fold"), *names)
    for each in verdicts:
        target = each.target
        yes_no = ("yes" if each.read else "not yet", "yes" if each.projected else "not yet")
        counts = [f"{count:,}" for count in (target.sent, each.reached, target.returned, each.pending)]
        table.add_row(f"{target.topic}/{target.partition}", *counts, *yes_no)
    Console().print(table)


def letters_in_words(count: int) -> str:
    """So many dead letters."""
    return f"{count:,} dead letter{'' if count == 1 else 's'}"


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
