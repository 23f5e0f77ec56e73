"""What /v1 answers: the resources as callers see them. Revisions, provider keys and epochs stay inside."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.records.meeting_commands import MeetingDetails, Recurrence, RoomSettings
from schemas.records.meeting_events import MeetingState

ROOM_PENDING = "pending"


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True)


class RecurrenceShape(_Shape):
    """A series, in Zoom's terms."""

    type: int = Field(description="1 daily, 2 weekly, 3 monthly.")
    repeat_interval: int
    weekly_days: str | None = None
    monthly_day: int | None = None
    monthly_week: int | None = None
    monthly_week_day: int | None = None
    end_times: int | None = None
    end_at: datetime | None = None

    @classmethod
    def of(cls, recurrence: Recurrence | None) -> RecurrenceShape | None:
        """As callers see it."""
        if recurrence is None:
            return None
        return cls(**{name: getattr(recurrence, name) for name in cls.model_fields})


class SettingsShape(_Shape):
    """The room's settings."""

    waiting_room: bool
    join_before_host: bool
    mute_upon_entry: bool
    host_video: bool
    participant_video: bool
    approval_type: int = Field(description="Registration: 0 automatic, 1 manual, 2 none.")
    auto_recording: str
    alternative_hosts: str

    @classmethod
    def of(cls, settings: RoomSettings) -> SettingsShape:
        """As callers see them."""
        return cls(**{name: getattr(settings, name) for name in cls.model_fields})


class DetailsShape(_Shape):
    """What a meeting is to be."""

    host: str = Field(description="Zoom user id or e-mail address.", examples=["host@example.com"])
    topic: str = Field(examples=["Weekly planning"])
    start_time: str = Field(description="Wall time in `timezone`.", examples=["2026-12-01T15:00:00"])
    timezone: str = Field(description="IANA name.", examples=["Europe/Madrid"])
    start_at: datetime = Field(description="The same moment in UTC.")
    duration_minutes: int = Field(examples=[60])
    agenda: str
    recurrence: RecurrenceShape | None
    settings: SettingsShape

    @classmethod
    def of(cls, details: MeetingDetails) -> DetailsShape:
        """As callers see them."""
        return cls(
            host=details.host,
            topic=details.topic,
            start_time=details.start_local,
            timezone=details.timezone,
            start_at=details.start_at,
            duration_minutes=details.duration_minutes,
            agenda=details.agenda,
            recurrence=RecurrenceShape.of(details.recurrence),
            settings=SettingsShape.of(details.settings),
        )


class RoomProblemShape(_Shape):
    """Why the room is not as the meeting wants it."""

    code: str
    message: str
    at: datetime


class MeetingRoomShape(_Shape):
    """How the meeting stands towards Zoom."""

    status: str = Field(
        description="`pending`, `ready`, `gone`, `failed`, `provider_unavailable`, `removing` or `removed`.",
        examples=["ready"],
    )
    zoom_id: str | None = Field(None, description="Zoom's meeting number.", examples=["91234567890"])
    join_url: str | None = None
    pending: list[str] = Field(
        default_factory=list, description="Work that is still to be done: `create`, `update`, ..."
    )
    problem: RoomProblemShape | None = None


class MeetingShape(DetailsShape):
    """A meeting with its room."""

    meeting_id: str
    status: Literal["pending", "scheduled", "cancelled"] = Field(description="`pending` until its create is decided.")
    version: int | None = Field(description="What `If-Match` compares; null while pending.", examples=[1])
    room: MeetingRoomShape
    created_at: datetime
    changed_at: datetime

    @classmethod
    def of_state(cls, state: MeetingState) -> MeetingShape:
        """A decided meeting."""
        problem = state.problem
        room = MeetingRoomShape(
            status=state.room_status,
            zoom_id=state.room.zoom_id if state.room else None,
            join_url=state.room.join_url if state.room else None,
            pending=[work.action for work in state.pending],
            problem=RoomProblemShape(code=problem.code, message=problem.message, at=problem.at) if problem else None,
        )
        return cls(
            **dict(DetailsShape.of(state.details)),
            meeting_id=state.meeting_id,
            status="cancelled" if state.status == "cancelled" else "scheduled",
            version=state.version,
            room=room,
            created_at=state.created_at,
            changed_at=state.changed_at,
        )

    @classmethod
    def pending(cls, details: DetailsShape, *, meeting_id: str, accepted_at: datetime) -> MeetingShape:
        """A meeting whose create is accepted and not decided."""
        return cls(
            **dict(details),
            meeting_id=meeting_id,
            status="pending",
            version=None,
            room=MeetingRoomShape(status=ROOM_PENDING),
            created_at=accepted_at,
            changed_at=accepted_at,
        )


class MeetingPage(_Shape):
    """Some meetings, newest first."""

    items: list[MeetingShape]
    next_cursor: str | None = Field(description="Give it as `cursor` for what comes next; null at the end.")


class Accepted(_Shape):
    """A command that is safe in Kafka, and not finished yet."""

    meeting_id: str
    command_id: str
    status: str = Field(description="Status of the command.", examples=["pending"])
    meeting: str = Field(description="Where the meeting is.", examples=["/v1/meetings/0c9f..."])
    command: str = Field(description="Where it is told what became of the command.", examples=["/v1/commands/5b1e..."])


class CommandShape(_Shape):
    """What became of a command."""

    command_id: str
    command: str = Field(
        description="`create`, `change`, `cancel`, `add_registrant`, `set_registrant`, or an operator's `retry`."
    )
    meeting_id: str
    registrant_id: str | None = Field(None, description="The person, when it is about one.")
    status: Literal["pending", "accepted", "rejected"]
    code: str | None = Field(description="Why it was rejected, as a word.", examples=["version_conflict"])
    message: str | None = Field(description="Why it was rejected, as a sentence.")
    version: int | None = Field(description="Version of the meeting after the command.")
    idempotency_key: str | None
    accepted_at: datetime
    decided_at: datetime | None


class RoomShape(BaseModel):
    """A room as Zoom's events and answers tell of it; what nothing has told of yet is absent."""

    model_config = ConfigDict(frozen=True, extra="allow")

    zoom_id: str = Field(description="Zoom's meeting number, as text.", examples=["91234567890"])
    existence: str = Field(
        description="`exists`, `deleted`, `permanently_deleted`, `gone_unconfirmed` or `unknown`.", examples=["exists"]
    )
    last_seen_event_at: datetime | None = Field(None, description="When anything was last heard of the room.")


class InstanceShape(BaseModel):
    """One run of a room."""

    model_config = ConfigDict(frozen=True, extra="allow")

    uuid: str = Field(description="Zoom's id of the run.", examples=["1P2rbp0oCNjcjqP3LP5YUA=="])
    status: str = Field(description="`unknown`, `started` or `ended`; it only rises.", examples=["ended"])
    started_at: datetime | None
    ended_at: datetime | None
    end_inferred: bool = Field(description="Whether no end was told, and the next run's start stands for it.")


class InstancePage(_Shape):
    """Some runs, newest first."""

    items: list[InstanceShape]
    next_cursor: str | None = Field(description="Give it as `cursor` for what comes next; null at the end.")


class StayShape(_Shape):
    """One time that a person was there."""

    joined_at: datetime
    left_at: datetime | None = Field(description="Null while it goes on, or when no end was told.")
    breakout_room: str = Field(description="Zoom's id of the breakout room; empty for the main one.")
    reported: bool = Field(description="Whether a report tells of it, and not an event.")


class PersonShape(_Shape):
    """A person, whatever connections they came by."""

    person: str = Field(description="The best identifier that is known.")
    identified_by: str = Field(description="`registrant_id`, `user`, `customer_key`, `email` or `connection`.")
    name: str
    seconds: int = Field(description="The union of all stays: two devices at once count once.", examples=[2395])
    present: bool
    first_joined_at: datetime | None
    last_left_at: datetime | None
    connections: int
    stays: list[StayShape]
    breakout_seconds: dict[str, int] = Field(description="Seconds in each breakout room.")
    anomalies: list[dict[str, Any]] = Field(description="What does not fit, such as a leave without a join.")


class AttendanceShape(InstanceShape):
    """Who attended a run, and for how long."""

    zoom_id: str
    people: list[PersonShape]
