"""Attendance counted from scratch, straight from the events: the oracle beside the fold.

It keeps no registers and joins nothing: it reads every event, sorts, and walks second by second. It shares no code with
the product but the shape of bodies. Only for events whose times are whole seconds and never blank.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from schemas.records.zoom_events import ZoomEvent

JOINS = ("meeting.participant_joined", "meeting.participant_joined_breakout_room")
LEAVES = ("meeting.participant_left", "meeting.participant_left_breakout_room")
LOBBY_IN = (
    "meeting.participant_joined_waiting_room",
    "meeting.participant_put_in_waiting_room",
    "meeting.participant_jbh_waiting",
)
LOBBY_OUT = (
    "meeting.participant_left_waiting_room",
    "meeting.participant_admitted",
    "meeting.participant_jbh_waiting_left",
    "meeting.participant_jbh_joined",
)
INSIDE = (
    *JOINS,
    *LEAVES,
    "meeting.participant_put_in_waiting_room",
    "meeting.participant_admitted",
    "meeting.participant_role_changed",
    "meeting.participant_bind",
    "meeting.sharing_started",
    "meeting.sharing_ended",
)
"""What only happens in a run that started."""
IDS = ("registrant_id", "user", "customer_key", "email")
TOLERANCE = 10
Intervals = list[tuple[int, int | None]]


@dataclass
class Seen:
    """What the events said of one connection."""

    moves: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    said: dict[str, tuple[tuple[int, str], str]] = field(default_factory=dict)
    rows: dict[int, set[int | None]] = field(default_factory=lambda: defaultdict(set))
    is_row: bool = False


def count(events: Sequence[ZoomEvent], uuid: str, *, now: int) -> dict[tuple[str, str], int]:
    """Seconds of each person in a run, `now` being in seconds since the epoch."""
    connections: dict[str, Seen] = defaultdict(Seen)
    for event in events:
        _read(event, uuid, connections)
    ended = _end(events, uuid)
    people = _people(connections)
    stays: dict[tuple[str, str], Intervals] = defaultdict(list)
    told: dict[tuple[str, str], dict[int, set[int | None]]] = defaultdict(lambda: defaultdict(set))
    for user_id, seen in connections.items():
        if seen.is_row:
            for joined, lefts in seen.rows.items():
                told[people[user_id]][joined] |= lefts
        else:
            stays[people[user_id]] += _with_rows(_without_gaps(_stays(seen.moves), seen.rows), seen.rows)
    return {
        person: len(_seconds(_with_rows(stays[person], told[person]), ended=ended, now=now))
        for person in set(people.values())
    }


def _read(event: ZoomEvent, uuid: str, connections: dict[str, Seen]) -> None:
    body = orjson.loads(event.body)
    subject = body["payload"]["object"]
    who = subject.get("participant")
    if subject.get("uuid") != uuid or not isinstance(who, dict):
        return
    if event.name.startswith("observation."):
        _read_row(event, who, connections)
        return
    seen = connections[_user_id(who, event)]
    happened = round((event.happened_at or datetime.min.replace(tzinfo=UTC)).timestamp() * 1000)
    _say(seen, who, (happened, f"1{event.event_id}"))
    own = who.get("join_time") or who.get("leave_time") or who.get("date_time")
    at = _second(own) if own else happened // 1000
    for what, names in (("join", JOINS), ("leave", LEAVES), ("in", LOBBY_IN), ("out", LOBBY_OUT)):
        if event.name in names:
            seen.moves[at].add(what)


def _read_row(event: ZoomEvent, who: Mapping[str, Any], connections: dict[str, Seen]) -> None:
    named = {
        "email": who.get("user_email", ""),
        **{name: who.get(name, "") for name in ("registrant_id", "id", "customer_key")},
    }
    joined, left = _second(who["join_time"]), _second(who["leave_time"]) if who["leave_time"] else None
    user_id = who.get("user_id")
    if not user_id:
        token = next(
            (
                f"{n}:{v}"
                for n, v in (
                    ("r", named["registrant_id"]),
                    ("i", named["id"]),
                    ("c", named["customer_key"]),
                    ("e", named["email"]),
                    ("n", who.get("name", "")),
                )
                if v
            ),
            "",
        )
        user_id = f"row {token} {joined}"
        connections[user_id].is_row = True
    asked = round((event.happened_at or datetime.min.replace(tzinfo=UTC)).timestamp() * 1000) - 5000
    _say(connections[user_id], named, (asked, f"0{event.event_id}"))
    connections[user_id].rows[joined].add(left)


def _say(seen: Seen, who: Mapping[str, Any], clock: tuple[int, str]) -> None:
    known = {
        "registrant_id": who.get("registrant_id"),
        "user": who.get("id") or who.get("participant_user_id"),
        "customer_key": who.get("customer_key"),
        "email": who.get("email"),
        "parent": who.get("parent_user_id"),
        "bind": who.get("bind_user_id"),
    }
    for name, value in known.items():
        if value and (name not in seen.said or seen.said[name] <= (clock, value)):
            seen.said[name] = (clock, value)


def _stays(moves: Mapping[int, set[str]]) -> Intervals:
    """Second by second: inside or not; then those who came back from the lobby and left later."""
    stays: Intervals = []
    orphans: list[int] = []
    entered: int | None = None
    in_lobby = False
    released: int | None = None
    for at in sorted(moves):
        now = moves[at]
        if entered is not None and now & {"leave", "in"}:
            stays.append((entered, at))
            entered = None
            in_lobby = "in" in now and "out" not in now
            released = at if "out" in now else None
            if "join" in now:
                entered, in_lobby, released = at, False, None
            continue
        if entered is not None:
            continue
        if "in" in now:
            in_lobby, released = True, None
        if "out" in now:
            in_lobby, released = False, at
        if "join" in now:
            entered, in_lobby, released = at, False, None
        if "leave" in now:
            if entered is not None:
                stays.append((entered, at))
            elif released is not None:
                stays.append((released, at))
            elif not in_lobby:
                orphans.append(at)
            entered, in_lobby, released = None, False, None
    if entered is not None:
        reversed_ends = any(0 <= entered - orphan <= TOLERANCE for orphan in orphans)
        stays.append((entered, entered if reversed_ends else None))
    return stays


def _without_gaps(stays: Intervals, rows: Mapping[int, Iterable[int | None]]) -> Intervals:
    """Second by second: whoever no row shows, between two rows that begin in a stay, was away."""
    result: Intervals = []
    for start, end in stays:
        mine = [joined for joined in rows if start - TOLERANCE <= joined and (end is None or joined < end)]
        shown: set[int] = set()
        for joined in mine:
            lefts = [left for left in rows[joined] if left is not None]
            shown |= set(range(joined, max([joined, *lefts]) + 1 if lefts else max(mine) + 1))
        entered = start
        for at in range(start, max([start, *mine])):
            if at in shown and at + 1 not in shown:
                result.append((entered, at))
                entered = min(joined for joined in mine if joined > at)
        result.append((entered, end))
    return result


def _with_rows(stays: Intervals, rows: Mapping[int, Iterable[int | None]]) -> Intervals:
    told = [
        (joined, max((max(left, joined) for left in lefts if left is not None), default=None))
        for joined, lefts in rows.items()
    ]
    result: Intervals = []
    for start, end in stays:
        ends = [left for joined, left in told if left is not None and _about(start, end, joined, left)]
        result.append((start, max([start, *ends]) if end is None and ends else end))
    result += [
        (joined, left) for joined, left in told if not any(_about(start, end, joined, left) for start, end in stays)
    ]
    return result


def _about(start: int, end: int | None, joined: int, left: int | None) -> bool:
    near = abs(start - joined) <= TOLERANCE
    return near or (end is None and joined <= start and (left is None or start < left))


def _seconds(stays: Intervals, *, ended: int | None, now: int) -> set[int]:
    """Every second somebody was there: a set, so that nothing counts twice."""
    present: set[int] = set()
    for start, end in stays:
        until = end if end is not None else ended if ended is not None else max(now, start)
        present.update(range(start, until if ended is None else min(until, ended)))
    return present


def _people(connections: Mapping[str, Seen]) -> dict[str, tuple[str, str]]:
    """The person of each connection: groups by flood, then weaker names that stand for exactly one stronger."""
    neighbours: dict[str, set[str]] = defaultdict(set)
    for user_id, seen in connections.items():
        neighbours[user_id].add(user_id)
        for link in ("parent", "bind"):
            if link in seen.said:
                other = seen.said[link][1]
                neighbours[user_id].add(other)
                neighbours[other].add(user_id)
    groups = {user_id: frozenset(_flood(user_id, neighbours)) for user_id in connections}
    names = {
        group: {pair for user_id in group if user_id in connections for pair in _names(connections[user_id])}
        for group in set(groups.values())
    }
    best = {
        group: min(found, key=lambda pair: (IDS.index(pair[0]), pair[1])) if found else None
        for group, found in names.items()
    }
    stands_for: dict[tuple[str, str], tuple[str, str]] = {}
    for kind in IDS[1:]:
        found: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        for group, pairs in names.items():
            strongest = best[group]
            for pair in pairs:
                if pair[0] == kind and strongest is not None and IDS.index(strongest[0]) < IDS.index(kind):
                    found[pair].add(stands_for.get(strongest, strongest))
        for pair, strong in found.items():
            if len(strong) == 1:
                stands_for[pair] = next(iter(strong))
    people: dict[str, tuple[str, str]] = {}
    for user_id, group in groups.items():
        strongest = best[group]
        people[user_id] = ("connection", min(group)) if strongest is None else stands_for.get(strongest, strongest)
    return people


def _flood(start: str, neighbours: Mapping[str, set[str]]) -> set[str]:
    reached, edge = {start}, [start]
    while edge:
        for other in neighbours[edge.pop()] - reached:
            reached.add(other)
            edge.append(other)
    return reached


def _names(seen: Seen) -> list[tuple[str, str]]:
    found = [(kind, seen.said[kind][1]) for kind in IDS if kind in seen.said]
    return [
        (kind, value.strip().lower() if kind == "email" else value)
        for kind, value in found
        if kind != "email" or "*" not in value
    ]


def _end(events: Sequence[ZoomEvent], uuid: str) -> int | None:
    """The last told end; else the next start of another run."""
    ends = [(event.happened_at, _second(_subject(event)["end_time"])) for event in _of(events, "meeting.ended", uuid)]
    if ends:
        return max(ends)[1]
    mine = _start(events, uuid)
    others = {_start(events, other) for other in {str(_subject(event).get("uuid")) for event in events} - {uuid}}
    return min((start for start in others if start is not None and mine is not None and start > mine), default=None)


def _start(events: Sequence[ZoomEvent], uuid: str) -> int | None:
    told = [_second(_subject(event)["start_time"]) for event in _of(events, "meeting.ended", uuid)]
    seen = [
        _second(_subject(event)["start_time"])
        for event in events
        if event.name in INSIDE and _subject(event).get("uuid") == uuid
    ]
    return min(told or seen, default=None)


def _of(events: Iterable[ZoomEvent], name: str, uuid: str) -> list[ZoomEvent]:
    return [event for event in events if event.name == name and _subject(event).get("uuid") == uuid]


def _subject(event: ZoomEvent) -> Mapping[str, Any]:
    subject: Mapping[str, Any] = orjson.loads(event.body)["payload"]["object"]
    return subject


def _user_id(who: Mapping[str, Any], event: ZoomEvent) -> str:
    for name in ("user_id", "participant_uuid", "registrant_id", "id", "customer_key", "user_name"):
        if who.get(name):
            return str(who[name]) if name == "user_id" else f"~{name}:{who[name]}"
    return f"~event:{event.event_id}"


def _second(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp())
