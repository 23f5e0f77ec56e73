"""Requests and meetings as operators read them: a table on a terminal, JSON lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from schemas.mapping import to_avro
from schemas.records.meeting_events import MeetingState

_SHOWN: Mapping[str, str] = {
    "provider_key": "provider key",
    "condition": "condition",
    "next_attempt_at": "next attempt at",
    "attempts": "attempts",
    "outcome": "outcome",
    "error_code": "code",
    "error_message": "Zoom's reason",
}


def tell(words: str, **values: Any) -> None:
    """What a command did: in words on a terminal, as one JSON line in a pipe."""
    if Console().is_terminal:
        Console().print(words, markup=False, highlight=False)
    else:
        _print_line(values)


def print_requests(rows: Iterable[Mapping[str, Any]], *, console: Console | None = None) -> None:
    """One line for each request; one that is worked on, or done, has no next attempt."""
    out = console or Console()
    if not out.is_terminal:
        for row in rows:
            _print_line(row)
        return
    table = Table(*_SHOWN.values(), box=None)
    for row in rows:
        table.add_row(*(escape(_text(row[name])) for name in _SHOWN))
    out.print(table)


def print_meeting(meeting: MeetingState, rows: Sequence[Mapping[str, Any]]) -> None:
    """A meeting's room, problem and requests."""
    out = Console()
    if not out.is_terminal:
        _print_line({"meeting": to_avro(meeting), "requests": [dict(row) for row in rows]})
        return
    problem = f"{meeting.problem.code}: {meeting.problem.message}" if meeting.problem else ""
    facts = {
        "meeting": meeting.meeting_id,
        "account": meeting.account_id,
        "status": f"{meeting.status}, version {meeting.version}",
        "room": f"{meeting.room_status} {meeting.room.zoom_id if meeting.room else ''}",
        "problem": problem,
        "second rooms": " ".join(room.zoom_id for room in meeting.second_rooms),
    }
    table = Table("", "", box=None, show_header=False)
    for name, value in facts.items():
        table.add_row(name, escape(value))
    out.print(table)
    print_requests(rows, console=out)


def _print_line(content: Mapping[str, Any]) -> None:
    sys.stdout.write(orjson.dumps(content, default=str).decode() + "\n")


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return "" if value is None else str(value)
