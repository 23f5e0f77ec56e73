"""Pairing the points of one connection, case by case. Times are seconds."""

from __future__ import annotations

import pytest

from schemas.rooms.attendance import union_ms
from schemas.rooms.entry import Point
from schemas.rooms.stays import paired

Stays = list[tuple[int, int | None]]
LETTERS = {"j": "joins", "l": "leaves", "i": "lobby_in", "o": "lobby_out", "r": "rows"}


def points(story: str) -> dict[str, tuple[Point, ...]]:
    """`j10 l20` is a join at second 10 and a leave at 20; `r10-20` a row of a report, `r10-` one without an end."""
    found: dict[str, list[Point]] = {}
    for word in story.split():
        time, _, left = word[1:].partition("-")
        value = f"{int(left) * 1000:013d}" if left else ""
        found.setdefault(LETTERS[word[0]], []).append((int(time) * 1000, value))
    return {name: tuple(sorted(members)) for name, members in found.items()}


def stays(story: str) -> Stays:
    """Start and end of each stay."""
    return [
        (each.joined // 1000, None if each.left is None else each.left // 1000) for each in paired(points(story)).stays
    ]


@pytest.mark.parametrize(
    ("story", "wanted"),
    [
        ("", []),
        ("j10 l20", [(10, 20)]),
        ("j10", [(10, None)]),
        ("j10 l20 j30 l40", [(10, 20), (30, 40)]),
        ("j10 j15 l20", [(10, 20)]),  # a join inside an open stay is the same stay
        ("j10 l20 l25", [(10, 20)]),
        ("j10 l10", [(10, 10)]),
        ("j10 l20 j20 l30", [(10, 20), (20, 30)]),  # out and in again within one second
        ("j10 i20", [(10, 20)]),  # into the lobby is out of the room
        ("j10 i20 l25", [(10, 20)]),
        ("j10 i20 o22", [(10, 20)]),  # out of the lobby, and never heard of again: gone
        ("j10 i20 o22 l30", [(10, 20), (22, 30)]),  # out of the lobby, and left later: was inside
        ("j10 i20 o22 j23 l30", [(10, 20), (23, 30)]),
        ("i5 o9 j10 l20", [(10, 20)]),
        ("i5 o10 j10 l20", [(10, 20)]),
        ("i5 l9", []),  # gave up waiting
        ("j10 o12 l20", [(10, 20)]),
        ("l7 j10", [(10, 10)]),  # the two ends of a short stay, reversed
        ("l0 j10", [(10, 10)]),
        ("l0 j11", [(11, None)]),
        ("l7 j10 l20", [(10, 20)]),  # no: this join has its own leave
        ("l7", []),
    ],
)
def test_points_pair_to_stays(story: str, wanted: Stays) -> None:
    """What came and went becomes stays, whatever is missing."""
    assert stays(story) == wanted


@pytest.mark.parametrize(
    ("story", "wanted"),
    [
        ("r10-20", [(10, 20)]),
        ("r10-", [(10, None)]),
        ("j10 r10-20", [(10, 20)]),  # the row ends the open stay
        ("j12 r10-20", [(12, 20)]),
        ("j30 r10-40", [(30, 40)]),  # the row spans the start of the open stay
        ("j10 r30-40", [(10, None), (30, 40)]),
        ("j10 l15 r10-20", [(10, 15)]),  # what a webhook said of an end stands
        ("j10 l15 r40-50", [(10, 15), (40, 50)]),  # a stay nobody heard of
        ("j10 r10- r10-18 r10-20", [(10, 20)]),  # later polls know more
        ("r10-5", [(10, 10)]),
        ("j10 l60 r10-20 r40-60", [(10, 20), (40, 60)]),  # an absence nobody heard of
        ("j10 r10-20 r40-60", [(10, 20), (40, 60)]),
        ("j10 l60 r10-45 r12-20 r40-60", [(10, 60), (40, 60)]),  # rows that overlap show none
    ],
)
def test_rows_of_reports_close_and_add(story: str, wanted: Stays) -> None:
    """Rows end open stays, part them, and add unseen ones."""
    assert stays(story) == wanted


@pytest.mark.parametrize(
    ("story", "orphans"), [("l7", [7]), ("l7 j30 l40", [7]), ("l7 j10", []), ("i5 l9", []), ("j1 l2 l3", [3])]
)
def test_leaves_that_end_nothing_are_kept_as_orphans(story: str, orphans: list[int]) -> None:
    """A leave of unknown start counts nothing and is shown."""
    assert [time // 1000 for time in paired(points(story)).orphan_leaves] == orphans


@pytest.mark.parametrize(
    ("story", "waiting"), [("i5", True), ("i5 o6", False), ("i5 j6", False), ("j1 i5", True), ("i5 l6", False)]
)
def test_who_waits_is_known(story: str, waiting: bool) -> None:
    """Whoever entered the lobby last is in it."""
    assert paired(points(story)).in_lobby is waiting


def test_a_union_counts_no_second_twice() -> None:
    """Overlapping, nested, touching and equal intervals."""
    assert union_ms([(0, 10), (5, 20), (6, 7), (20, 30), (50, 60), (50, 60), (70, 70)]) == 40
