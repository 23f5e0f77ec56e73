"""What can happen to a meeting: the steps between its states. `decide` chooses them, `evolve` takes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from schemas.records.meeting_commands import MeetingDetails
from schemas.records.meeting_events import MeetingRoom, RoomProblem, RoomWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A caller wants the meeting."""

    account_id: str
    meeting_id: str
    idempotency_key: str
    details: MeetingDetails
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailsChanged:
    """A caller wants it otherwise."""

    details: MeetingDetails
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """A caller no longer wants it. For ever: a cancelled meeting never comes back."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkAdded:
    """Something is to be done about a room."""

    work: RoomWork


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDropped:
    """A piece of work is no longer wanted, because it is done, has failed or was replaced."""

    provider_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkAimed:
    """The room that a piece of work is about became known."""

    provider_key: str
    zoom_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomBound:
    """This is the meeting's room now."""

    room: MeetingRoom


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomSeen:
    """Zoom showed the room's details."""

    shown: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomLost:
    """Zoom does not know the meeting's room any more."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomRemoved:
    """The meeting's room was removed on our wish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondRoomFound:
    """There is a room that carries the meeting's key and is not its room."""

    room: MeetingRoom


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondRoomRemoved:
    """A room made in excess is gone."""

    zoom_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemNoted:
    """The room is not as the meeting wants it."""

    problem: RoomProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemSolved:
    """It is again."""


Fact = (
    Created
    | DetailsChanged
    | Cancelled
    | WorkAdded
    | WorkDropped
    | WorkAimed
    | RoomBound
    | RoomSeen
    | RoomLost
    | RoomRemoved
    | SecondRoomFound
    | SecondRoomRemoved
    | ProblemNoted
    | ProblemSolved
)
