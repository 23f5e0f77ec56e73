"""Pairing: from the points of a connection to its stays.

A leave does not say which join it ends, and events come late, twice or never; so points are kept and paired when read:
- a join inside an open stay is the same stay;
- entering the lobby ends a stay; leaving the lobby begins one only if a leave follows (else whoever left it is gone, or
  joined, which is told by a join);
- a leave that ends nothing, at most ten seconds before a join that nothing ends, is one stay of no length with its two
  ends reversed; any other is an orphan: a stay of unknown start, which counts nothing;
- rows of a report end the open stay that they show, part a stay in the middle of which they show an absence, and add
  stays nobody heard of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

from schemas.rooms.entry import Point, Points

REVERSED_MS = 10_000
"""Two ends of one short stay come in the wrong order by no more than this."""
SAME_JOIN_MS = 10_000
"""Webhook and report tell one join by no more than this apart."""

_Move = Literal["leaves", "lobby_in", "lobby_out", "joins"]
_WHEN_INSIDE: tuple[_Move, ...] = ("leaves", "lobby_in", "lobby_out", "joins")
_WHEN_OUTSIDE: tuple[_Move, ...] = ("lobby_in", "lobby_out", "joins", "leaves")
_PLAIN = frozenset({"joins", "leaves"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """From a join to its leave, in milliseconds since the epoch."""

    joined: int
    left: int | None
    """None while it is open."""
    breakout_room: str = ""
    """Uuid of the breakout room; blank for the main room."""
    reported: bool = False
    """Whether a report, and no webhook, told of it."""


@dataclass(slots=True)
class Paired:
    """What the points of one connection come to."""

    stays: list[Stay] = field(default_factory=list)
    orphan_leaves: list[int] = field(default_factory=list)
    in_lobby: bool = False


def paired(points: Points) -> Paired:
    """The stays of a connection, oldest first; at most the last one is open."""
    if points.keys() <= _PLAIN and len(joins := points.get("joins", ())) == 1:
        [(joined, breakout_room)] = joins
        leaves = points.get("leaves", ())
        if not leaves or (len(leaves) == 1 and leaves[0][0] >= joined):  # nearly all: came once, and left or not yet
            left = leaves[0][0] if leaves else None
            return Paired(stays=[Stay(joined=joined, left=left, breakout_room=breakout_room)])
    walk = _Walk()
    for time, moves in sorted(_moves(points).items()):
        for move in _WHEN_OUTSIDE if walk.inside is None else _WHEN_INSIDE:
            if move in moves:
                walk.step(move, time, moves[move])
    found = walk.finished()
    told = rows(points.get("rows", ()))
    found.stays = with_rows([part for stay in found.stays for part in parted(stay, told)], told)
    return found


def rows(points: Iterable[Point]) -> dict[int, int | None]:
    """The rows of a report: join and the latest leave told with it."""
    found: dict[int, int | None] = {}
    for joined, leave in points:
        left = max(joined, int(leave)) if leave else None
        known = found.get(joined)
        found[joined] = left if known is None else max(known, left or known)
    return found


def parted(stay: Stay, told: Mapping[int, int | None]) -> list[Stay]:
    """The stay without the absences between the rows of a report that begin in it: nobody heard of those."""
    parts: list[Stay] = []
    until: float = -1
    for joined, left in sorted(told.items()):
        if joined < stay.joined - SAME_JOIN_MS or (stay.left is not None and joined >= stay.left):
            continue
        if stay.joined <= until < joined:
            parts.append(replace(stay, left=int(until)))
            stay = replace(stay, joined=joined)
        until = max(until, inf if left is None else left)
    return [*parts, stay]


def with_rows(stays: Sequence[Stay], told: Mapping[int, int | None]) -> list[Stay]:
    """These stays with what a report tells of them, oldest first."""
    if not told:
        return sorted(stays, key=_order)
    ends = [
        max((left for joined, left in told.items() if left and shows(stay, joined, left)), default=None)
        for stay in stays
    ]
    closed = [
        replace(stay, left=max(stay.joined, end)) if stay.left is None and end is not None else stay
        for stay, end in zip(stays, ends, strict=True)
    ]
    added = [
        Stay(joined=joined, left=left, reported=True)
        for joined, left in told.items()
        if not any(shows(stay, joined, left) for stay in stays)
    ]
    return sorted([*closed, *added], key=_order)


def shows(stay: Stay, joined: int, left: int | None) -> bool:
    """Whether a row of a report is about this stay: they begin together, or the row spans the start of an open one."""
    if abs(stay.joined - joined) <= SAME_JOIN_MS:
        return True
    return stay.left is None and joined <= stay.joined and (left is None or stay.joined < left)


def _order(stay: Stay) -> tuple[int, bool, int, str]:
    return stay.joined, stay.left is None, stay.left or 0, stay.breakout_room


class _Walk:
    """Goes through the points of a connection in the order in which they happened."""

    def __init__(self) -> None:
        self.inside: Stay | None = None
        self._lobby = False
        self._let_out: int | None = None
        self._paired = Paired()

    def step(self, move: _Move, time: int, breakout_room: str) -> None:
        if move == "joins":
            self._join(time, breakout_room)
        elif move == "leaves":
            self._leave(time)
        elif move == "lobby_in":
            self._enter_lobby(time)
        elif self.inside is None:
            self._lobby, self._let_out = False, time

    def finished(self) -> Paired:
        if self.inside is not None:
            reversed_by = [time for time in self._paired.orphan_leaves if 0 <= self.inside.joined - time <= REVERSED_MS]
            if reversed_by:
                self._paired.orphan_leaves.remove(reversed_by[-1])
                self._end(self.inside.joined)
            else:
                self._paired.stays.append(self.inside)
        self._paired.in_lobby = self._lobby
        return self._paired

    def _join(self, time: int, breakout_room: str) -> None:
        if self.inside is None:
            self.inside = Stay(joined=time, left=None, breakout_room=breakout_room)
        self._lobby, self._let_out = False, None

    def _leave(self, time: int) -> None:
        if self.inside is not None:
            self._end(time)
        elif self._let_out is not None:
            self._paired.stays.append(Stay(joined=self._let_out, left=time))
        elif not self._lobby:
            self._paired.orphan_leaves.append(time)
        self._lobby, self._let_out = False, None

    def _enter_lobby(self, time: int) -> None:
        if self.inside is not None:
            self._end(time)
        self._lobby, self._let_out = True, None

    def _end(self, time: int) -> None:
        if self.inside is not None:
            self._paired.stays.append(replace(self.inside, left=time))
            self.inside = None


def _moves(points: Points) -> dict[int, dict[_Move, str]]:
    """What happened at each moment."""
    moves: dict[int, dict[_Move, str]] = {}
    for move in _WHEN_INSIDE:
        for time, breakout_room in points.get(move, ()):
            moves.setdefault(time, {}).setdefault(move, breakout_room)
    return moves
