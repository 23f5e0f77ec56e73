"""What callers and the room worker ask for: the records of `meeting-commands`, keyed by the meeting id."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A series, in Zoom's terms: type 1 daily, 2 weekly, 3 monthly."""

    type: int
    repeat_interval: int = 1
    weekly_days: str | None = None
    monthly_day: int | None = None
    monthly_week: int | None = None
    monthly_week_day: int | None = None
    end_times: int | None = None
    end_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomSettings:
    """Every room setting that matters, always sent whole: what is left out, Zoom takes from the account's defaults.

    Source: Zoom's changelog "Meetings", 2025-12-15.
    """

    waiting_room: bool = True
    join_before_host: bool = False
    mute_upon_entry: bool = True
    host_video: bool = False
    participant_video: bool = False
    approval_type: int = 2
    """0 automatic, 1 manual, 2 no registration."""
    auto_recording: str = "none"
    alternative_hosts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingDetails:
    """What a caller wants of a meeting, whole."""

    host: str
    """Zoom user id or e-mail address of the host."""
    topic: str
    start_local: str
    """Wall time in `timezone`, `YYYY-MM-DDTHH:MM:SS`, without offset."""
    timezone: str
    """IANA name."""
    start_at: datetime
    """The same moment in UTC."""
    duration_minutes: int
    agenda: str = ""
    recurrence: Recurrence | None = None
    settings: RoomSettings = field(default_factory=RoomSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateMeeting:
    """A caller wants a meeting with a room."""

    command_id: str
    account_id: str
    meeting_id: str
    issued_at: datetime
    issued_by: str
    """`key:<api key id>`, `outbox:<name>`, `worker:<id>` or `poller`."""
    idempotency_key: str
    request_hash: bytes
    """SHA-256 of the canonical request, so that other content under the same key is a conflict."""
    details: MeetingDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMeeting:
    """A caller wants other details. What it did not name stays as it is when the command is decided."""

    command_id: str
    account_id: str
    meeting_id: str
    issued_at: datetime
    issued_by: str
    idempotency_key: str | None
    request_hash: bytes
    expected_version: int | None
    changes: str
    """Canonical JSON object of the fields to change, named as in the API (`schemas.requests`); absent is unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelMeeting:
    """A caller no longer wants the meeting."""

    command_id: str
    account_id: str
    meeting_id: str
    issued_at: datetime
    issued_by: str
    idempotency_key: str | None
    request_hash: bytes
    expected_version: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRoom:
    """An operator wants the room tried again, after a failure that trying again by itself would not have mended."""

    command_id: str
    account_id: str
    meeting_id: str
    issued_at: datetime
    issued_by: str
    reason: str


MOVES = "worker:moves"
"""Who issues an `AddRegistrant` for a person whose meeting has another room now: it registers nobody who left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRegistrant:
    """A caller wants a person registered. One command for each person, also where many are added at once."""

    command_id: str
    account_id: str
    meeting_id: str
    issued_at: datetime
    issued_by: str
    idempotency_key: str | None
    request_hash: bytes
    email: str
    """As the caller wrote it; upper and lower case name one person."""
    first_name: str
    last_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRegistrant:
    """A caller decides about a registered person."""

    command_id: str
    account_id: str
    meeting_id: str
    issued_at: datetime
    issued_by: str
    idempotency_key: str | None
    request_hash: bytes
    email: str
    action: str
    """`approve`, `deny` or `cancel`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRegistrantOutcome:
    """What became of one call for a registrant. `command_id` derives from kind, key, epoch and outcome."""

    command_id: str
    account_id: str
    meeting_id: str
    issued_at: datetime
    issued_by: str
    kind: str
    """`outcome` (under the own epoch) or `late_report`."""
    provider_key: str
    epoch: int
    action: str
    """`register`, `approve`, `deny` or `unregister`."""
    outcome: str
    """`done`, `failed`, `gone`, `dropped`, `unknown` or `provider_unavailable`."""
    attempts: int
    email: str
    zoom_id: str | None = None
    """The room that the person is registered for."""
    registrant_id: str | None = None
    join_url: str | None = None
    """The person's own link; None while approval is pending."""
    status: str | None = None
    """`approved` or `pending`, as Zoom has it after a register."""
    error_code: str | None = None
    error_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomFound:
    """A room as Zoom answered it, without its secrets."""

    zoom_id: str
    uuid: str
    host_id: str
    host: str
    """The host as it was asked for: an id or an e-mail address."""
    join_url: str
    provider_key: str | None
    """The key that the room carries; None when it carries none."""
    shown: str
    """Canonical JSON of what Zoom shows of the details that Roomkeeper sets; empty when only a list was seen."""
    shown_at: datetime
    """When the request that showed it was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRoomOutcome:
    """What became of one call for a meeting's room. `command_id` derives from kind, key, epoch and room."""

    command_id: str
    account_id: str
    meeting_id: str
    issued_at: datetime
    issued_by: str
    kind: str
    """`outcome` (under the own epoch), `late_report` (the epoch had gone), `read_back`, `sweep`, or of somebody's
    change in Zoom `drift_restored`, `drift_accepted` or `drift_reported`."""
    provider_key: str
    epoch: int
    """0 for reports that belong to no claim."""
    action: str
    """`create`, `update`, `cancel` or `remove`."""
    outcome: str
    """`done`, `failed`, `gone`, `too_late`, `dropped`, `unknown` or `provider_unavailable`."""
    attempts: int
    version: int | None = None
    """Version of the meeting whose details this very call sent; None when it sent none, or an earlier call may have."""
    zoom_id: str | None = None
    """The room that was worked on."""
    room: RoomFound | None = None
    """The room as it is now, when it was seen."""
    differences: tuple[str, ...] = ()
    """Names of details that Zoom shows otherwise than they were sent, or than they were when last seen."""
    error_code: str | None = None
    error_message: str | None = None
