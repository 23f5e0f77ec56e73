"""Attendance of a run: for each person the length of the union of their stays.

Nothing is counted by events. An open stay counts to the end of the run; while the run goes on it counts to the
present and is marked as open. What lies after the end does not count; a join after it is an anomaly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas.rooms.connections import Connection
from schemas.rooms.persons import Person, persons
from schemas.rooms.runs import Run
from schemas.rooms.stays import Stay, with_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Attendance:
    """One person in one run."""

    person: Person
    name: str
    seconds: int
    """Whole seconds present."""
    present: bool
    """Whether a stay is open in a run that is not over."""
    first_joined: int | None
    """Milliseconds; None where no stay is known."""
    last_left: int | None
    """Milliseconds; None while present, or where no stay is known."""
    connections: int
    stays: tuple[Stay, ...]
    """As far as they count, oldest first."""
    breakout_seconds: tuple[tuple[str, int], ...]
    """Time by breakout room's uuid."""
    anomalies: tuple[tuple[str, int], ...]
    """What does not fit, and when: `joined_after_end`, `left_without_join`."""


def attendance(run: Run, connections: Sequence[Connection], *, now: int) -> list[Attendance]:
    """Every person whom the run knows, by identifier; `now` in milliseconds matters only while the run goes on."""
    mine: dict[Person, list[Connection]] = defaultdict(list)
    for connection, person in zip(connections, persons(connections), strict=True):
        mine[person].append(connection)
    return [_of_person(run, person, mine[person], now) for person in sorted(mine)]


def union_ms(intervals: Iterable[tuple[int, int]]) -> int:
    """Length of the union of intervals."""
    total, reach = 0, None
    for start, end in sorted(intervals):
        begin = start if reach is None else max(start, reach)
        total += max(0, end - begin)
        reach = end if reach is None else max(reach, end)
    return total


def _of_person(run: Run, person: Person, connections: Sequence[Connection], now: int) -> Attendance:
    stays = _stays(connections)
    counted = [(stay, until) for stay in stays if (until := _until(run, stay, now)) is not None]
    present = run.status != "ended" and any(stay.left is None for stay, _ in counted)
    rooms: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for stay, until in counted:
        if stay.breakout_room:
            rooms[stay.breakout_room].append((stay.joined, until))
    by_join = sorted(
        connections, key=lambda each: (min((stay.joined for stay in each.stays), default=2**63), each.user_id)
    )
    return Attendance(
        person=person,
        name=next((each.name for each in by_join if each.name), ""),
        seconds=union_ms((stay.joined, until) for stay, until in counted) // 1000,
        present=present,
        first_joined=min((stay.joined for stay, _ in counted), default=None),
        last_left=None if present else max((until for _, until in counted), default=None),
        connections=len(connections),
        stays=tuple(stay for stay, _ in counted),
        breakout_seconds=tuple((room, union_ms(rooms[room]) // 1000) for room in sorted(rooms)),
        anomalies=_anomalies(run, stays, connections),
    )


def _anomalies(run: Run, stays: Sequence[Stay], connections: Sequence[Connection]) -> tuple[tuple[str, int], ...]:
    end = None if run.end_inferred else run.ended_at
    late = {("joined_after_end", stay.joined) for stay in stays if end is not None and stay.joined > end}
    orphans = {("left_without_join", time) for each in connections for time in each.orphan_leaves}
    return tuple(sorted(late | orphans))


def _stays(connections: Sequence[Connection]) -> list[Stay]:
    """The stays that connections had, with what rows of a report tell that name the person but no connection."""
    heard = [stay for each in connections if not each.is_report for stay in each.stays]
    told: dict[int, int | None] = {}
    for stay in (stay for each in connections if each.is_report for stay in each.stays):
        known = told.get(stay.joined)
        told[stay.joined] = stay.left if known is None else max(known, stay.left or known)
    return with_rows(heard, told)


def _until(run: Run, stay: Stay, now: int) -> int | None:
    """Until when a stay counts; None where it does not, because it began after the end."""
    if run.ended_at is not None:
        return (
            None if stay.joined > run.ended_at else min(run.ended_at, run.ended_at if stay.left is None else stay.left)
        )
    if stay.left is not None:
        return stay.left
    return stay.joined if run.status == "ended" else max(stay.joined, now)
