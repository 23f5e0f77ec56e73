"""What the commands print: a table on a terminal, JSON in a pipe."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from reconciler.poller.explaining import Explanation


def show_pass(report: dict[str, Any]) -> None:
    """What a pass did."""
    console = Console()
    if not console.is_terminal:
        typer.echo(orjson.dumps(report).decode())
        return
    table = Table("", "", show_header=False, title="pass")
    for name, value in report.items():
        text = ", ".join(f"{key} {number}" for key, number in value.items()) if isinstance(value, dict) else f"{value}"
        table.add_row(name.replace("_", " "), text)
    console.print(table)


def show_explanation(found: Explanation, *, as_json: bool) -> None:
    """What is known of a room, and what would be done."""
    console = Console()
    if as_json or not console.is_terminal:
        typer.echo(orjson.dumps(as_plain(found), default=str).decode())
        return
    console.print(_facts(found))
    if found.facts.runs:
        console.print(_runs(found))
    console.print(_rules(found))
    if found.paused:
        console.print(f"The account is not called: {found.paused}")
    asks = ", ".join(found.would_ask)
    console.print(f"The next pass would ask for: {asks}" if asks else "The next pass would ask nothing.")


def as_plain(found: Explanation) -> dict[str, Any]:
    """For JSON."""
    facts = asdict(found.facts)
    return {
        "at": found.now,
        "known": {name: value for name, value in facts.items() if name not in {"runs", "visit"}},
        "runs": facts["runs"],
        "visit": facts["visit"],
        "rules": [
            {
                "name": each.rule.name,
                "holds": each.held is not None,
                "threshold_seconds": each.threshold_seconds,
                "since": each.held.overdue.since if each.held else None,
                "late_seconds": each.held.late_seconds if each.held else None,
                "badness": each.held.badness if each.held else None,
                "due": each.held.due if each.held else None,
                "why": each.held.overdue.why if each.held else None,
            }
            for each in found.rules
        ],
        "paused": found.paused or None,
        "would_ask": list(found.would_ask),
    }


def _facts(found: Explanation) -> Table:
    facts, visit = found.facts, found.facts.visit
    table = Table("", "", show_header=False, title=f"room {facts.zoom_id} of {facts.account_id}, times in UTC")
    rows = {
        "existence": facts.existence,
        "made for a meeting": facts.ready_at,
        "last webhook": facts.last_seen_at,
        "dates": ", ".join(f"{span.start_at:%Y-%m-%d %H:%M} to {span.end_at:%H:%M}" for span in facts.spans),
        "silent since": facts.silent_since,
        "past data refused": "yes" if facts.past_refused else None,
        "last asked": visit.asked_at or "never",
        "because of": ", ".join(visit.rules),
        "outcome": visit.outcome,
        "not again before": visit.next_at,
        "seen at": visit.got_at,
        "not found at": visit.missing_at,
        "past runs read at": visit.past_read_at,
        "suspected": visit.suspicion,
    }
    for name, value in rows.items():
        if value not in (None, ""):
            table.add_row(name, _text(value))
    return table


def _runs(found: Explanation) -> Table:
    table = Table("run", "status", "started", "ended", "open stays", "compared", "again at", title="runs")
    for run in found.facts.runs:
        table.add_row(
            run.uuid,
            run.status,
            _text(run.started_at),
            _text(run.ended_at),
            "yes" if run.open_connections else "",
            run.outcome or "",
            _text(run.next_at),
        )
    return table


def _rules(found: Explanation) -> Table:
    table = Table("rule", "holds", "threshold", "late", "why", title="rules")
    for each in found.rules:
        if each.held is None:
            table.add_row(each.rule.name, "no", f"{each.threshold_seconds:.0f} s", "", "", style="dim")
            continue
        holds = "yes" if each.held.due else "yes, not due yet"
        late = f"{each.held.late_seconds:.0f} s"
        table.add_row(each.rule.name, holds, f"{each.threshold_seconds:.0f} s", late, each.held.overdue.why)
    return table


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return "" if value is None else str(value)
