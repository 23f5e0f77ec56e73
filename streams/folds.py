"""The folds of Roomkeeper's workers."""

from __future__ import annotations

from typing import Any

from streams.fold import Fold
from streams.meetings.fold import MeetingsFold
from streams.rooms.fold import RoomsFold


def folds() -> list[Fold[Any]]:
    """One fold per source topic; every worker runs all of them."""
    return [MeetingsFold(), RoomsFold()]
