"""Requests and meetings as operators read them: a table on a terminal, JSON lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from schemas.mapping import to_avro
from schemas.records.meeting_events import MeetingState

_SHOWN = ("provider_key", "condition", "due_at", "attempts", "outcome", "error_code", "error_message")


def print_requests(rows: Iterable[Mapping[str, Any]], *, console: Console | None = None) -> None:
    """One line for each request; `due_at` of one that waits is its next attempt."""
    out = console or Console()
    if not out.is_terminal:
        for row in rows:
            _print_line(row)
        return
    table = Table(*_SHOWN, box=None)
    for row in rows:
        table.add_row(*(_text(row[name]) for name in _SHOWN))
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
        table.add_row(name, value)
    out.print(table)
    print_requests(rows, console=out)


def _print_line(content: Mapping[str, Any]) -> None:
    sys.stdout.write(orjson.dumps(content, default=str).decode() + "\n")


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return "" if value is None else str(value)
