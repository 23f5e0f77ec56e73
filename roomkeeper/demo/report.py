"""The demo's table and what stands around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from roomkeeper.demo.verdict import Attended, Verdict


def table(verdicts: Sequence[Verdict]) -> Table:
    """Every meeting: its room and attendance as found, beside what was true in Zoom."""
    shown = Table(
        box=box.SIMPLE_HEAVY, title="What Roomkeeper knows, beside what was true in Zoom", title_justify="left"
    )
    shown.add_column("meeting", min_width=20)
    shown.add_column("room", no_wrap=True)
    for side in ("found", "true"):
        shown.add_column(f"runs\n{side}", justify="right")
        shown.add_column(f"people\n{side}", justify="right")
        shown.add_column(f"attended\n{side}", justify="right", no_wrap=True)
    shown.add_column("", no_wrap=True)
    for verdict in verdicts:
        mark = "[red]not as expected[/]" if verdict.objections else "[green]as expected[/]"
        shown.add_row(verdict.topic, verdict.room, *_cells(verdict.found), *_cells(verdict.true), mark)
    return shown


def objections(verdicts: Sequence[Verdict]) -> list[str]:
    """A line for each thing that is not as expected."""
    return [f"{verdict.topic}: {objection}" for verdict in verdicts for objection in verdict.objections]


def happenings(counts: Mapping[str, Any], *, workers_killed: int) -> str:
    """What the stack went through, in one paragraph."""
    webhooks, faults = counts["webhooks"], counts["faults_struck"]
    return (
        f"{webhooks['emitted']} events happened; {webhooks.get('acknowledged', 0)} deliveries were acknowledged, "
        f"{faults.get('duplicate', 0)} of them doubles, {faults.get('reorder', 0)} out of order, "
        f"{webhooks.get('retried', 0)} after a failed attempt. {counts['rooms_made']} rooms were made; "
        f"{faults.get('error', 0)} answer to a create was lost. {workers_killed} stream worker was killed."
    )


def conclusion(verdicts: Sequence[Verdict]) -> str:
    """The last line."""
    wrong = sum(bool(verdict.objections) for verdict in verdicts)
    return f"demo: {len(verdicts) - wrong} as expected, {wrong} not"


def _cells(attended: Attended) -> tuple[str, str, str]:
    minutes, seconds = divmod(attended.seconds, 60)
    return str(attended.runs), str(attended.people), f"{minutes}:{seconds:02d}"
