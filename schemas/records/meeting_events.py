"""What became of commands: the records of `meeting-events`, keyed by the meeting id, and the entries of the meetings table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from schemas.records.meeting_commands import MeetingDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomWork:
    """A piece of pending work for a meeting's room; part of the meeting's state."""

    provider_key: str
    """`meeting:action:n`; kept over retries."""
    action: str
    """`create`, `update`, `cancel` or `remove` (of a second room)."""
    n: int
    zoom_id: str | None
    """The room to work on; None where the meeting has none yet."""
    added_at: datetime
    cause_id: str
    """Command that added the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingRoom:
    """The room of a meeting."""

    zoom_id: str
    uuid: str
    host_id: str
    join_url: str
    provider_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomProblem:
    """Why the room is not as the meeting wants it."""

    code: str
    message: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingState:
    """A meeting, whole: the entry `account|meeting_id` of the meetings table."""

    account_id: str
    meeting_id: str
    version: int
    """Raised by every accepted command of a caller; what `If-Match` compares."""
    status: str
    """`scheduled` or `cancelled`."""
    details: MeetingDetails
    idempotency_key: str
    created_at: datetime
    changed_at: datetime
    room_status: str
    """`pending`, `ready`, `failed`, `provider_unavailable`, `removing` or `removed`."""
    room: MeetingRoom | None = None
    problem: RoomProblem | None = None
    last_n: int = 0
    pending: tuple[RoomWork, ...] = ()
    second_rooms: tuple[MeetingRoom, ...] = ()
    unsure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """What became of one command: the entry `account|meeting_id|command_id` of the meetings table. A repeat gives it again."""

    command_id: str
    account_id: str
    meeting_id: str
    command: str
    """Record name of the command."""
    request_hash: bytes
    status: str
    """`accepted` or `rejected`."""
    code: str | None
    """Machine-readable reason of a rejection, such as `version_conflict`; None when accepted."""
    message: str | None
    version: int
    """Version of the meeting after the command."""
    decided_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingEvent:
    """A command was decided: what happened, the meeting after it and the answer, with their revision."""

    event_id: str
    cause_id: str
    """`command_id` of the command."""
    account_id: str
    meeting_id: str
    kind: str
    """`created`, `changed`, `cancelled`, `rejected`, `room_ready`, `room_changed`, `room_removed`, `room_failed`, `outcome_recorded`, `outcome_ignored`, ..."""
    happened_at: datetime
    generation: int
    revision: int
    """Offset in `meeting-commands` of the command; readers keep the greatest (generation, revision)."""
    meeting: MeetingState | None
    """None only when a rejected command concerns no known meeting."""
    answer: CommandAnswer | None
    provider_key: str | None = None
    epoch: int | None = None
    """Which call of the room worker this answers; the row is deleted when the epoch is its own."""
    releases: bool = False
    """Whether the row of (provider_key, epoch) ends here: False for late reports and *provider unavailable*."""
