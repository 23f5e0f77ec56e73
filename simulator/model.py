"""The simulated world's things: accounts, hosts, rooms, runs, connections, people, registrants, recordings.

What changes with time is mutable here and is changed only by `rooms`, `runs`, `registrations` and `recordings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from simulator.config import Plan

INSTANT, SCHEDULED, RECURRING_UNFIXED, PERSONAL, RECURRING_FIXED, SHARE_ONLY = 1, 2, 3, 4, 8, 10


@dataclass(slots=True, kw_only=True)
class Host:
    """A user who holds meetings."""

    host_id: str
    email: str
    name: str
    pmi: int
    licensed: bool = True
    pending: bool = False
    may_host: bool = True


@dataclass(slots=True, kw_only=True)
class Account:
    """One tenant of Zoom, with its one app."""

    account_id: str
    client_id: str
    client_secret: str
    webhook_secret: str
    plan: Plan
    owner: Host
    hosts: dict[str, Host]
    """By e-mail."""
    webhook_url: str | None
    tracking_fields: tuple[str, ...]

    def find_host(self, key: str) -> Host | None:
        """The host with this e-mail or id."""
        return self.hosts.get(key) or next((host for host in self.hosts.values() if host.host_id == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who joins. Blank identifiers are what Zoom shows of people outside the account."""

    key: str
    """The simulator's own name for the person."""
    name: str
    email: str = ""
    zoom_user_id: str = ""
    registrant_id: str = ""
    customer_key: str = ""
    phone_number: str = ""

    @property
    def identity(self) -> str | None:
        """The best identifier that Zoom's events carry, None for an anonymous guest."""
        return self.registrant_id or self.zoom_user_id or self.customer_key or self.email or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """One time in a room, to the second, as Zoom tells it."""

    joined_at: datetime
    left_at: datetime | None = None


@dataclass(slots=True, kw_only=True)
class Connection:
    """One `user_id` in one run: a device in the main room or in a breakout room."""

    user_id: str
    participant_uuid: str
    person: Person
    stays: list[Stay] = field(default_factory=list)
    parent_user_id: str | None = None
    breakout_room_uuid: str | None = None
    in_lobby: bool = False

    @property
    def present(self) -> bool:
        """Whether the connection is in a room now."""
        return bool(self.stays) and self.stays[-1].left_at is None


@dataclass(slots=True, kw_only=True)
class Run:
    """One instance of a room."""

    uuid: str
    started_at: datetime
    ended_at: datetime | None = None
    connections: dict[str, Connection] = field(default_factory=dict)
    breakout_uuids: dict[int, str] = field(default_factory=dict)
    recorded: list[Stay] = field(default_factory=list)
    files_told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One date of a series."""

    occurrence_id: str
    start_at: datetime
    duration_minutes: int
    status: str = "available"


@dataclass(slots=True, kw_only=True)
class Registrant:
    """Somebody registered for a room."""

    registrant_id: str
    email: str
    first_name: str
    last_name: str
    status: str
    join_url: str
    pin_code: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What a caller can say about a room."""

    topic: str
    type: int
    start_at: datetime | None
    duration_minutes: int
    timezone: str
    agenda: str
    password: str
    settings: Mapping[str, Any]
    tracking_fields: tuple[tuple[str, str], ...] = ()
    recurrence: Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True)
class Room:
    """One meeting number with its details, runs and registrants."""

    number: int
    account: Account
    host: Host
    uuid: str
    """The uuid of the present run, or of the next one."""
    details: Details
    created_at: datetime
    creation_source: str
    secrets: Mapping[str, str]
    occurrences: tuple[Occurrence, ...] = ()
    personal: bool = False
    """Whether the host's personal meeting room is used in its place."""
    deleted_at: datetime | None = None
    purged: bool = False
    listed_at: datetime | None = None
    """Lists show it from then on; None means from the start."""
    runs: list[Run] = field(default_factory=list)
    registrants: dict[str, Registrant] = field(default_factory=dict)
    users_seen: int = 0

    @property
    def live(self) -> Run | None:
        """The run in progress."""
        return self.runs[-1] if self.runs and self.runs[-1].ended_at is None else None

    @property
    def exists(self) -> bool:
        """Whether Zoom still answers for it."""
        return self.deleted_at is None
