"""What was found beside what was true, meeting by meeting. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from roomkeeper.demo.programme import Booking


@dataclass(frozen=True, slots=True, kw_only=True)
class Attended:
    """A room's runs and people, added up for people to read."""

    runs: int
    people: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One meeting."""

    topic: str
    room: str
    found: Attended
    true: Attended
    objections: Sequence[str]
    """What is not as expected; empty when all is."""


def judge(
    booking: Booking,
    *,
    meeting: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    rooms: Sequence[Mapping[str, Any]],
) -> Verdict:
    """Compares a meeting, and its runs as read over HTTP, with the rooms in Zoom that were ever made for it."""
    existing = [room for room in rooms if room["exists"]]
    true_runs = [run for room in rooms for run in room["instances"]]
    objections = _of_cancelled(meeting, existing) if booking.is_cancelled else _of_room(booking, meeting, existing)
    if len(rooms) != 1:
        objections.append(f"{len(rooms)} rooms were made")
    return Verdict(
        topic=str(meeting.get("topic")),
        room="removed" if booking.is_cancelled and not existing else str(meeting["room"]["zoom_id"]),
        found=_summary(runs),
        true=_summary(true_runs),
        objections=[*objections, *_of_runs(runs, true_runs)],
    )


def _of_room(booking: Booking, meeting: Mapping[str, Any], existing: Sequence[Mapping[str, Any]]) -> list[str]:
    if not existing:
        return ["it has no room"]
    (room, *_), wanted = existing, booking.change or {}
    pairs = (
        ("status", meeting["room"]["status"], "ready"),
        ("number", meeting["room"]["zoom_id"], room["zoom_id"]),
        ("wish for the topic", meeting["topic"], wanted.get("topic", booking.topic)),
        ("topic", meeting["topic"], room["topic"]),
        ("duration", meeting["duration_minutes"], room["duration_minutes"]),
        ("start", _moment(meeting["start_at"]), _moment(room["start_at"])),
        ("host", meeting["host"], room["host_email"]),
    )
    return [f"room's {what}: {found} and not {true}" for what, found, true in pairs if found != true]


def _of_cancelled(meeting: Mapping[str, Any], existing: Sequence[Mapping[str, Any]]) -> list[str]:
    objections = [] if meeting["status"] == "cancelled" else [f"the meeting is {meeting['status']}"]
    return [*objections, *(f"room {room['zoom_id']} is still there" for room in existing)]


def _of_runs(found: Sequence[Mapping[str, Any]], true: Sequence[Mapping[str, Any]]) -> list[str]:
    by_uuid = {run["uuid"]: run for run in found}
    objections = [f"unknown run {uuid}" for uuid in by_uuid.keys() - {run["uuid"] for run in true}]
    for run in true:
        known = by_uuid.get(run["uuid"])
        objections += [f"run {run['uuid']} is missing"] if known is None else _of_run(known, run)
    return objections


def _of_run(found: Mapping[str, Any], true: Mapping[str, Any]) -> list[str]:
    times = ("started_at", "ended_at")
    objections = [
        f"{what} {found[what]} and not {true[what]}" for what in times if _moment(found[what]) != _moment(true[what])
    ]
    seen, real = _seconds(found), _seconds(true)
    names = sorted(name for name in seen.keys() | real.keys() if seen.get(name) != real.get(name))
    return objections + [f"{name}: {seen.get(name)} s and not {real.get(name)} s" for name in names]


def _seconds(run: Mapping[str, Any]) -> dict[str, int]:
    return {person["name"]: person["seconds"] for person in run["people"]}


def _summary(runs: Sequence[Mapping[str, Any]]) -> Attended:
    names = {person["name"] for run in runs for person in run["people"]}
    seconds = sum(person["seconds"] for run in runs for person in run["people"])
    return Attended(runs=len(runs), people=len(names), seconds=seconds)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
