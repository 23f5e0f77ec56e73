"""What a host's list shows of a room, beside what is known of it: pure.

A list shows little: no settings, no status, agendas cut, and of a series the start of some date. What it does show
otherwise than it is known is a suspicion, which one GET confirms or clears.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.rooms.drift import LISTED_AGENDA, changes
from zoom.client.rooms import shown_by
from zoom.webhooks.event_ids import canonical_hash

SERIES = (3, 8)
"""Types of rooms whose listed start is that of some date."""

Item = Mapping[str, Any]


def listed_otherwise(item: Item, known: Item) -> tuple[str, ...]:
    """Names of details that a list's item shows otherwise than the room is known."""
    before, now = dict(shown_by(known)), dict(shown_by(item))
    if item.get("type") in SERIES:
        now.pop("start_at", None)
    if str(before.get("agenda", "")).startswith(str(now.get("agenda", ""))[: LISTED_AGENDA - 1]):
        now.pop("agenda", None)
    return changes(before, now)


def digest(item: Item) -> str:
    """Names what an item shows, so that what was looked into once is not looked into again and again."""
    return canonical_hash(dict(shown_by(item)))
