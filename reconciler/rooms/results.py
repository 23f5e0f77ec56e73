"""What working on a request came to: a conclusion for the meeting, or a row that is kept for later."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from schemas.ids import ZoomId
from schemas.records.meeting_commands import RoomFound
from schemas.records.zoom_events import ZoomEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Park:
    """Whom not to call until when."""

    scope: str
    """`account`, `creates` or `host`."""
    host: str = ""
    until_at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A person as Zoom has it."""

    registrant_id: str
    status: str | None
    """`approved` or `pending`; None where only a decision was carried out."""
    join_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    """The work is over, one way or the other."""

    outcome: str
    """As in `RecordRoomOutcome`."""
    zoom_id: ZoomId | None = None
    room: RoomFound | None = None
    version: int | None = None
    """Version of the meeting that the room is known to show."""
    differences: tuple[str, ...] = ()
    error_code: str | None = None
    error_message: str | None = None
    seen: tuple[ZoomEvent, ...] = ()
    """What was seen on the way, for `zoom-events`."""
    others: tuple[RoomFound, ...] = ()
    """Further rooms with a key of the meeting that were met on the way."""
    doubtful: bool = False
    """Whether nobody saw the room after the call, or another call of ours may land after it."""
    registered: Registered | None = None
    """The person, in work about registrants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The work is to be tried again."""

    due_at: datetime
    code: str
    message: str
    outcome: str = "retry"
    """`retry`, `unknown` or `provider_unavailable`, shown to operators."""
    started: bool = False
    """Whether a call was begun."""
    harmless: bool = False
    """Whether the calls of this claim are known to have had no effect."""
    counted: bool = True
    """Whether it counts as an attempt."""
    looks: int = 0
    """Look-ups since the last call of unknown outcome."""
    unknown_at: datetime | None = None
    """When a call ended with its outcome unknown."""
    park: Park | None = None
    seen: tuple[ZoomEvent, ...] = ()


Result = Concluded | Kept
