"""The join of two states of one entry: the stale-event guard, made a law.

Commutative, associative and idempotent; the top is *expired*, which swallows everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import orjson

from schemas.rooms.entry import NOTHING, Entry, Maxima, Point, Points, Registers

Outcome = Literal["applied", "overtaken", "repeated"]

POINTS_KEPT = 64
"""Newest points kept of a set: 64 stays of one connection are more than any person makes."""
EXPIRED = "expired"
"""The maximum that makes an entry a stub."""
GONE = "gone"
"""The set of 404s: the newest three, of each five minutes the last."""
_GONE_KEPT = 3
_GONE_BUCKET_MS = 300_000


def join(state: Entry, registers: Registers, points: Points, maxima: Maxima) -> tuple[Entry, Outcome]:
    """The state with these parts joined to it, and what that did.

    Nothing new is *repeated*, or *overtaken* where something newer won.
    """
    if EXPIRED in maxima or EXPIRED in state.maxima:
        return _join_expired(state, maxima)
    joined_registers, lost_registers = _join_registers(state.registers, registers) if registers else (None, False)
    joined_points, lost_points = _join_points(state.points, points) if points else (None, False)
    joined_maxima, lost_maxima = _join_maxima(state.maxima, maxima) if maxima else (None, False)
    if joined_registers is None and joined_points is None and joined_maxima is None:
        return state, "overtaken" if lost_registers or lost_points or lost_maxima else "repeated"
    return state.with_changes(joined_registers, joined_points, joined_maxima), "applied"


def newest(name: str, members: Iterable[Point]) -> tuple[Point, ...]:
    """Of these points those that the set keeps, oldest first."""
    if name == GONE:
        last_of_bucket = {ms // _GONE_BUCKET_MS: (ms, value) for ms, value in sorted(members)}
        return tuple(last_of_bucket.values())[-_GONE_KEPT:]
    return tuple(sorted(members)[-POINTS_KEPT:])


def _join_registers(state: Registers, registers: Registers) -> tuple[Registers | None, bool]:
    """The joined registers, None when they are the state's; and whether any lost to a newer one."""
    joined: dict[str, tuple[str, Any]] | None = None
    lost = False
    for name, register in registers.items():
        present = state.get(name)
        if present is not None:
            if present[0] > register[0]:
                lost = True
                continue
            if present[0] == register[0] and not _is_greater(register[1], present[1]):
                continue
        if joined is None:
            joined = dict(state)
        joined[name] = register
    return joined, lost


def _is_greater(value: Any, present: Any) -> bool:
    """Whether a value wins over another of the same clock: two copies of one event that differ."""
    if isinstance(value, str) and value == present:
        return False
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS) > orjson.dumps(present, option=orjson.OPT_SORT_KEYS)


def _join_points(state: Points, points: Points) -> tuple[Points | None, bool]:
    joined: dict[str, tuple[Point, ...]] | None = None
    lost = False
    for name, members in points.items():
        present = state.get(name, ())
        if present and all(member in present for member in members):
            continue
        kept = newest(name, {*present, *members}) if present else members
        if kept == present:
            lost = True
            continue
        if joined is None:
            joined = dict(state)
        joined[name] = kept
    return joined, lost


def _join_maxima(state: Maxima, maxima: Maxima) -> tuple[Maxima | None, bool]:
    joined: dict[str, int] | None = None
    lost = False
    for name, number in maxima.items():
        present = state.get(name)
        if present is None or number > present:
            if joined is None:
                joined = dict(state)
            joined[name] = number
        elif number < present:
            lost = True
    return joined, lost


def _join_expired(state: Entry, maxima: Maxima) -> tuple[Entry, Outcome]:
    """A stub: when it expired, and nothing else."""
    at = max(state.maxima.get(EXPIRED, 0), maxima.get(EXPIRED, 0))
    if state.maxima == {EXPIRED: at}:
        return state, "repeated" if maxima == {EXPIRED: at} else "overtaken"
    return state.with_changes(NOTHING, NOTHING, {EXPIRED: at}), "applied"
