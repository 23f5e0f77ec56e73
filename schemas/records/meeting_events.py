"""What became of commands: the records of `meeting-events`, by meeting id; and the meetings table's entries."""

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
    """`create`, `update`, `cancel` or `remove` (of a second room); of registrants `register`, `approve`, `deny` or
    `unregister`."""
    n: int
    host: str
    """Under whom the room is or is to be, as it was asked for."""
    zoom_id: str | None
    """The room to work on; None where the meeting has none yet."""
    added_at: datetime
    cause_id: str
    """Command that added the work."""
    repair: bool = False
    """Whether it must be done although a later call has sent the same details: a late call may have undone them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingRoom:
    """A room made for a meeting."""

    zoom_id: str
    uuid: str
    host_id: str
    host: str
    """The host as it was asked for. Where the meeting wants another, it wants another room."""
    join_url: str
    provider_key: str
    """The key of the create that made it, which it carries."""
    shown: str = ""
    """Canonical JSON of what Zoom showed of its details when last seen; empty when that is not known."""
    shown_at: datetime | None = None
    gone_at: datetime | None = None
    """When Zoom was found not to know the room any more; None while it does."""


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
    """`pending`, `ready`, `gone`, `failed`, `provider_unavailable`, `removing` or `removed`."""
    room: MeetingRoom | None = None
    problem: RoomProblem | None = None
    last_n: int = 0
    pending: tuple[RoomWork, ...] = ()
    second_rooms: tuple[MeetingRoom, ...] = ()
    """Rooms made in excess, or for an earlier host; each has a pending `remove` until it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrantState:
    """A person registered for a meeting: the entry `account|meeting_id|registrant|registrant_key`."""

    account_id: str
    meeting_id: str
    registrant_key: str
    """Derived from account, meeting and the e-mail address in lower case."""
    email: str
    first_name: str
    last_name: str
    status: str
    """`registering`, `pending` (the host decides), `approved`, `denied`, `cancelled` or `failed`."""
    created_at: datetime
    changed_at: datetime
    zoom_id: str | None = None
    """The room that the person is registered for."""
    registrant_id: str | None = None
    join_url: str | None = None
    problem: RoomProblem | None = None
    last_n: int = 0
    pending: tuple[RoomWork, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """What became of one command: the entry `account|meeting_id|command_id`, so that a repeat can be given it again."""

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
    event_kind: str
    """Kind of the event that told it first: a repeat is told by the same event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingEvent:
    """A command was decided: what happened, the meeting after it and the answer, with their revision."""

    event_id: str
    cause_id: str
    """`command_id` of the command."""
    account_id: str
    meeting_id: str
    kind: str
    """`created`, `changed`, `cancelled`, `retried` or `rejected`; and of outcomes `room_ready`, `room_changed`,
    `room_removed`, `room_gone`, `room_failed`, `room_unavailable`, `outcome_recorded` (the state changed otherwise)
    or `outcome_ignored`; of registrants `registrant_added`, `registrant_changed`, `registrant_unchanged` and
    `registrant_failed`."""
    happened_at: datetime
    generation: int
    revision: int
    """Offset in `meeting-commands` of the command; readers keep the greatest (generation, revision)."""
    meeting: MeetingState | None
    """As it is after the command; None when a command about no known meeting was rejected, and in events of
    registrants, which leave the meeting as it is."""
    answer: CommandAnswer | None
    provider_key: str | None = None
    epoch: int | None = None
    """Which call of the room worker this answers; the row is deleted when the epoch is its own."""
    registrant: RegistrantState | None = None
    """As it is after a command about it."""
    releases: bool = False
    """Whether the row of (provider_key, epoch) ends here: False for late reports and *provider unavailable*."""
