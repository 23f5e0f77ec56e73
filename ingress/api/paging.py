"""Pages of lists that stand in the order of their making, newest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, TypeVar
from uuid import UUID

from fastapi import Query

from ingress.cursor import CURSOR_CHARS, decode_cursor, encode_cursor
from ingress.problems import query_problem
from ingress.reading import EVERYTHING

Cursor = Annotated[str | None, Query(max_length=CURSOR_CHARS, description="`next_cursor` of the page before.")]
Limit = Annotated[int | None, Query(ge=1, le=200, description="Items on a page.")]

T = TypeVar("T")


def place_of(cursor: str | None, *, scope: Sequence[str | None]) -> tuple[str, str]:
    """The moment and the id after which the page begins.

    Raises:
        Problem: the list that `scope` names never gave this cursor.
    """
    if cursor is None:
        return EVERYTHING
    place = decode_cursor(cursor, scope=scope, parts=2)
    try:
        if place is not None:
            return datetime.fromisoformat(place[0]).isoformat(), str(UUID(place[1]))
    except ValueError:
        pass
    raise query_problem("cursor", "is not one that this list has given; begin again without it")


def page_of(
    found: Sequence[T], *, rows: int, scope: Sequence[str | None], place: Callable[[T], tuple[datetime, str]]
) -> tuple[list[T], str | None]:
    """The first `rows` of what was found, and the cursor of what comes after them; None at the end."""
    items = list(found[:rows])
    if len(found) <= rows:
        return items, None
    at, name = place(items[-1])
    return items, encode_cursor((at.isoformat(), name), scope=scope)
