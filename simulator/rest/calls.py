"""One call and its answer, as the endpoints' functions see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from simulator.endpoints import Endpoint
from simulator.faults import Fault
from simulator.model import Account, Host, Room
from simulator.service import Service
from simulator.wire import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An authenticated call to a known endpoint."""

    service: Service
    endpoint: Endpoint
    account: Account
    values: Mapping[str, str]
    ambiguous: bool
    """Whether a uuid in the path was encoded once where twice was needed."""
    query: Mapping[str, str]
    body: Json
    now: datetime
    host: Host | None
    """The host whom the call concerns, as far as it can be told."""
    room: Room | None
    faults: Sequence[Fault]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What Zoom says."""

    status: int
    body: Json | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
