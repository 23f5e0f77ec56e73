"""What follows from it: the records of `room-events`, keyed by the meeting number, and the entries of the rooms table."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """A field that may change: the maximum by (tier, time, rank, event id, value)."""

    tier: int
    time_ms: int | None
    """Milliseconds since the epoch; None sorts before every time."""
    rank: int
    event_id: str
    value: str
    """Canonical JSON: keys sorted, no spaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One member of a set of which the newest k are kept, such as a join or a leave."""

    time_ms: int
    rank: int
    event_id: str
    value: str
    """Canonical JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEntry:
    """One entry of the rooms table: an element of the join-semilattice. It holds no status and no count; those are computed when read."""

    account_id: str
    zoom_id: str
    kind: str
    """`room`, `instance`, `connection`, `report`, `occurrence`, `registrant`, `recording` or `fact`."""
    parts: tuple[str, ...]
    """What identifies the entry within its room: () for the room, (uuid,), (uuid, user_id), (occurrence_id,), ..."""
    registers: dict[str, Register] = field(default_factory=dict)
    points: dict[str, tuple[Point, ...]] = field(default_factory=dict)
    maxima: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEvent:
    """A fact took effect on one entry, or did not because newer facts had: the entry after it, with its revision."""

    event_id: str
    cause_id: str
    """`event_id` of the `ZoomEvent`."""
    account_id: str
    zoom_id: str
    fact: str
    """Zoom's event name."""
    happened_at: datetime | None
    outcome: str
    """`applied`, `overtaken` (newer facts win) or `repeated` (nothing new)."""
    kind: str
    """Kind of the entry."""
    entry_key: str
    """Key of the entry in the rooms table."""
    generation: int
    revision: int
    """Offset in `zoom-events` of the record that caused this; readers keep the greatest (generation, revision)."""
    entry: bytes
    """The `RoomEntry` after the fact, in single-object encoding, byte-equal to the one in the changelog."""
