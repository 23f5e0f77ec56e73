"""What callers may ask of meetings, over HTTP and through an outbox alike: fields, limits, and what follows from them.

`MeetingRequest` is a whole meeting, `ChangeRequest` what is to change; both refuse unknown names. A request becomes
`MeetingDetails`, a change a canonical JSON text that `apply_changes` merges when the command is decided. A request's
hash is over the meaning of a request, not its bytes: 09:00+02:00 and the same instant in local time are one request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from schemas.canonical import canonical_json
from schemas.records.meeting_commands import MeetingDetails, Recurrence, RoomSettings
from schemas.schedule import resolve_start

AGENDA_CHARS = 1_900
"""Zoom takes 2,000; the first line is the provider key's."""
MOST_PEOPLE = 100
"""People in one request: a bounded transaction, and far more than Zoom takes in one call."""


def _not_me(host: str) -> str:
    if host == "me":
        raise ValueError("must be a user id or an e-mail address: a server-to-server app has no `me`")
    return host


Host = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\s/?#]+$"), AfterValidator(_not_me)]
Topic = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]
StartTime = Annotated[str, StringConstraints(min_length=1, max_length=40)]
Zone = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Minutes = Annotated[int, Field(ge=1, le=1440, strict=True)]
Agenda = Annotated[str, StringConstraints(max_length=AGENDA_CHARS, pattern=r"^[^\x00]*$")]

Email = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=128, pattern=r"^[^@\s\x00]+@[^@\s\x00]+\.[^@\s\x00]+$"),
]
PersonName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecurrenceRequest(_Request):
    """A series, in Zoom's terms: type 1 daily, 2 weekly, 3 monthly; it ends after `end_times` or at `end_at`."""

    type: Literal[1, 2, 3]
    repeat_interval: int = Field(1, ge=1, le=90)
    weekly_days: str | None = Field(None, pattern=r"^[1-7](,[1-7]){0,6}$", description="1 is Sunday")
    monthly_day: int | None = Field(None, ge=1, le=31)
    monthly_week: Literal[-1, 1, 2, 3, 4] | None = None
    monthly_week_day: int | None = Field(None, ge=1, le=7)
    end_times: int | None = Field(None, ge=1, le=60)
    end_at: AwareDatetime | None = None

    @model_validator(mode="after")
    def _one_end(self) -> RecurrenceRequest:
        if (self.end_times is None) == (self.end_at is None):
            raise ValueError("needs either end_times or end_at")
        if (self.monthly_week is None) != (self.monthly_week_day is None):
            raise ValueError("needs monthly_week and monthly_week_day together")
        return self


class SettingsRequest(_Request):
    """Room settings; one that is absent has Roomkeeper's default, or stays as it is in a change."""

    waiting_room: bool = True
    join_before_host: bool = False
    mute_upon_entry: bool = True
    host_video: bool = False
    participant_video: bool = False
    approval_type: Literal[0, 1, 2] = Field(2, description="registration: 0 automatic, 1 manual, 2 none")
    auto_recording: Literal["none", "local", "cloud"] = "none"
    alternative_hosts: str = Field(
        "", max_length=1_000, pattern=r"^[^\s\x00]*$", description="e-mail addresses, separated by semicolons"
    )


class MeetingRequest(_Request):
    """A whole meeting. `start_time` is wall time in `timezone`, or carries an offset, and then the instant counts."""

    host: Host
    topic: Topic
    start_time: StartTime
    timezone: Zone | None = Field(None, description="IANA name; may be absent only when start_time ends in Z")
    duration_minutes: Minutes = 60
    agenda: Agenda = ""
    recurrence: RecurrenceRequest | None = None
    settings: SettingsRequest = SettingsRequest()

    def details(self) -> MeetingDetails:
        """The meeting that is asked for.

        Raises:
            ScheduleError: there is no such start.
        """
        start = resolve_start(self.start_time, self.timezone)
        return MeetingDetails(
            host=self.host,
            topic=self.topic,
            start_local=start.local,
            timezone=start.timezone,
            start_at=start.at,
            duration_minutes=self.duration_minutes,
            agenda=self.agenda,
            recurrence=_recurrence(self.recurrence),
            settings=RoomSettings(**self.settings.model_dump()),
        )

    def request_hash(self) -> bytes:
        """SHA-256 over what is asked for: equal for every way to write it, also in versions that know more fields.

        Raises:
            ScheduleError: there is no such start.
        """
        start = resolve_start(self.start_time, self.timezone)
        said = self.model_dump(mode="json", exclude_defaults=True, exclude={"start_time", "timezone"})
        return _hash(
            "CreateMeeting", said | {"start_local": start.local, "timezone": start.timezone, "at": start.at.isoformat()}
        )


class ChangeRequest(_Request):
    """Only what is to change; `settings` change leaf by leaf, `recurrence` as a whole, and null ends the series."""

    host: Host | None = None
    topic: Topic | None = None
    start_time: StartTime | None = None
    timezone: Zone | None = None
    duration_minutes: Minutes | None = None
    agenda: Agenda | None = None
    recurrence: RecurrenceRequest | None = None
    settings: SettingsRequest | None = None

    @model_validator(mode="after")
    def _something(self) -> ChangeRequest:
        if not self.model_fields_set:
            raise ValueError("names nothing to change")
        for name in sorted(self.model_fields_set - {"recurrence"}):
            if getattr(self, name) is None:
                raise ValueError(f"{name} cannot be null")
        return self

    def changes(self) -> str:
        """The `changes` of a `ChangeMeeting`."""
        return canonical_json(self.model_dump(mode="json", exclude_unset=True))

    def request_hash(self, *, expected_version: int | None) -> bytes:
        """SHA-256 over what is asked for."""
        return _hash("ChangeMeeting", {"changes": self.changes(), "expected_version": expected_version})


def apply_changes(details: MeetingDetails, changes: str) -> MeetingDetails:
    """The details after the changes. A new zone alone keeps the wall time; a new wall time alone keeps the zone.

    Raises:
        ScheduleError: there is no such start.
        ValueError: the text is not the `changes()` of a `ChangeRequest`.
    """
    asked = ChangeRequest.model_validate_json(changes)
    named = asked.model_fields_set
    plain: dict[str, Any] = {name: getattr(asked, name) for name in named & _PLAIN}
    if "settings" in named and asked.settings is not None:
        plain["settings"] = replace(details.settings, **asked.settings.model_dump(exclude_unset=True))
    if "recurrence" in named:
        plain["recurrence"] = _recurrence(asked.recurrence)
    if named & {"start_time", "timezone"}:
        start = resolve_start(asked.start_time or details.start_local, asked.timezone or details.timezone)
        plain |= {"start_local": start.local, "timezone": start.timezone, "start_at": start.at}
    return replace(details, **plain)


class RegistrantRequest(_Request):
    """A person to register. The e-mail address names the person, in upper or lower case."""

    email: Email
    first_name: PersonName
    last_name: Annotated[str, StringConstraints(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""

    def request_hash(self) -> bytes:
        """SHA-256 over what is asked for."""
        content = {"email": self.email.casefold(), "first_name": self.first_name, "last_name": self.last_name}
        return _hash("AddRegistrant", content)


class RegistrantDecision(_Request):
    """What is to become of a registered person."""

    email: Email
    action: Literal["approve", "deny", "cancel"]

    def request_hash(self) -> bytes:
        """SHA-256 over what is asked for."""
        return _hash("SetRegistrant", {"email": self.email.casefold(), "action": self.action})


class RegistrantsRequest(_Request):
    """People to register, each once. The order does not matter."""

    registrants: list[RegistrantRequest] = Field(min_length=1, max_length=MOST_PEOPLE)

    @field_validator("registrants")
    @classmethod
    def _once_each(cls, asked: list[RegistrantRequest]) -> list[RegistrantRequest]:
        return _distinct(asked)

    def request_hashes(self) -> dict[str, bytes]:
        """By e-mail address, the request hash of each person's command."""
        return _hashes(self.registrants)


class DecisionsRequest(_Request):
    """Decisions about registered people, one for each. The order does not matter."""

    decisions: list[RegistrantDecision] = Field(min_length=1, max_length=MOST_PEOPLE)

    @field_validator("decisions")
    @classmethod
    def _once_each(cls, asked: list[RegistrantDecision]) -> list[RegistrantDecision]:
        return _distinct(asked)

    def request_hashes(self) -> dict[str, bytes]:
        """By e-mail address, the request hash of each person's command."""
        return _hashes(self.decisions)


P = TypeVar("P", RegistrantRequest, RegistrantDecision)


def _distinct(asked: list[P]) -> list[P]:
    """In the order of their addresses.

    Raises:
        ValueError: somebody is named twice.
    """
    known: dict[str, P] = {}
    for place, each in enumerate(asked):
        if each.email.casefold() in known:
            raise ValueError(f"names the person at {place} twice")
        known[each.email.casefold()] = each
    return [known[email] for email in sorted(known)]


def _hashes(asked: Sequence[RegistrantRequest] | Sequence[RegistrantDecision]) -> dict[str, bytes]:
    """One person is asked for as through an outbox; of several, each command stands for the whole request."""
    own = {each.email: each.request_hash() for each in asked}
    if len(own) == 1:
        return own
    return {
        email: _hash("together", {"all": [each.hex() for each in own.values()], "of": own[email].hex()})
        for email in own
    }


def cancel_hash(*, reason: str, expected_version: int | None) -> bytes:
    """The request hash of a cancellation."""
    return _hash("CancelMeeting", {"reason": reason, "expected_version": expected_version})


def _hash(command: str, content: Mapping[str, Any]) -> bytes:
    return sha256(canonical_json([command, content]).encode()).digest()


_PLAIN = frozenset({"host", "topic", "duration_minutes", "agenda"})


def _recurrence(asked: RecurrenceRequest | None) -> Recurrence | None:
    return None if asked is None else Recurrence(**asked.model_dump())
