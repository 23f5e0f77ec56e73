"""Runs of a room as they are read: status, start and end.

A run is known by its own entry, or only by its participants, whose events prove that it started. A run of which no end
was told is over when the next one starts: its end is *inferred*.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from schemas.rooms.connections import Connection
from schemas.rooms.entry import Entry

Status = Literal["unknown", "started", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One instance of a room, times in milliseconds since the epoch."""

    uuid: str
    status: Status
    """Only rises; `ended` is final for this uuid, and says nothing of another."""
    started_at: int | None
    ended_at: int | None
    end_inferred: bool = False
    end_polled: bool = False
    """Whether the end is known from a poll alone."""


def runs(instances: Iterable[Entry], connections: Iterable[Connection]) -> list[Run]:
    """All runs of one room, by start, those without a known start first."""
    witnesses: dict[str, list[Connection]] = defaultdict(list)
    for connection in connections:
        witnesses[connection.uuid].append(connection)
    entries = {entry.identity.parts[0]: entry for entry in instances}
    found = [_run(uuid, entries.get(uuid), witnesses[uuid]) for uuid in {*entries, *witnesses}]
    return _with_inferred_ends(found)


def start_of(entry: Entry | None) -> tuple[int, int] | None:
    """Carrier and time of an instance's start; None where its entry tells none."""
    register = None if entry is None else entry.registers.get("started_at")
    return None if register is None else (int(register[0][0]), register[1])


def _run(uuid: str, entry: Entry | None, witnesses: Iterable[Connection]) -> Run:
    told = start_of(entry)
    seen = [each.run_started_at for each in witnesses if each.run_started_at is not None]
    if told is None or told[0] == 1:
        started_at = min([*seen, *([] if told is None else [told[1]])], default=None)
    else:
        started_at = told[1]
    ended = entry is not None and "ended" in entry.maxima
    started = (entry is not None and "started" in entry.maxima) or any(each.witnessed for each in witnesses)
    end = None if entry is None else entry.registers.get("ended_at")
    return Run(
        uuid=uuid,
        status="ended" if ended else "started" if started else "unknown",
        started_at=started_at,
        ended_at=None if end is None else end[1],
        end_polled=end is not None and end[0].startswith("0"),
    )


def _with_inferred_ends(found: Iterable[Run]) -> list[Run]:
    ordered = sorted(found, key=lambda run: (run.started_at is not None, run.started_at or 0, run.uuid))
    starts = sorted({run.started_at for run in ordered if run.started_at is not None})
    following = dict(pairwise(starts))
    closed = []
    for run in ordered:
        following_start = None if run.started_at is None else following.get(run.started_at)
        if run.ended_at is not None or following_start is None:
            closed.append(run)
        else:
            closed.append(replace(run, status="ended", ended_at=following_start, end_inferred=True))
    return closed
