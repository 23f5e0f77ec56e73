"""What follows from what was heard: the records of `room-events`, and the entries of the rooms table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEntry:
    """One entry of the rooms table: an element of the join-semilattice.

    It holds no status and no count; those are computed when read. The three JSON texts are canonical (keys sorted, no
    spaces), so that equal states are equal bytes. `schemas.rooms.entry` is their reader and writer.
    """

    account_id: str
    zoom_id: str
    """Meeting number, or `account:<account_id>` for what concerns no meeting."""
    kind: str
    """`room`, `instance`, `connection`, `report`, `occurrence`, `registrant`, `recording` or `fact`."""
    parts: tuple[str, ...]
    """What identifies the entry within its room: () for the room, (uuid,), (uuid, user_id), (occurrence_id,), ..."""
    registers: str
    """`{clock: {field: value}}`: of each field the value with the greatest clock."""
    points: str
    """`{set: [[milliseconds, value], ...]}`: of each set the newest members."""
    maxima: str
    """`{name: integer}`: the greatest ever seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEvent:
    """A fact took effect on one entry, or did not because newer facts had: the entry after it, with its revision."""

    event_id: str
    cause_id: str
    """`event_id` of the `ZoomEvent`."""
    account_id: str
    zoom_id: str
    """Meeting number, or `account:<account_id>`."""
    fact: str
    """Zoom's event name."""
    happened_at: datetime | None
    generation: int
    revision: int
    """Offset in `zoom-events` of the record that caused this; readers keep the greatest (generation, revision)."""
    outcome: str
    """`applied`, `overtaken` (newer facts win) or `repeated` (nothing new)."""
    kind: str
    """Kind of the entry."""
    entry_key: str
    """Key of the entry in the rooms table."""
    entry: bytes
    """The `RoomEntry` after the fact, in single-object encoding, byte-equal to the one in the changelog."""
