"""What the poller knows of a room before it asks: plain values, from the read model and the poller's own tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Suspicion = Literal["changed", "missing"]
GONE = frozenset({"deleted", "permanently_deleted", "gone_unconfirmed"})
"""Existences of rooms that are not asked about any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """When a room is to be used."""

    start_at: datetime
    end_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run, and what was asked about it."""

    uuid: str
    status: str
    """unknown, started or ended."""
    started_at: datetime | None
    ended_at: datetime | None
    """Told, or inferred from the start of the next run."""
    end_told: bool
    end_polled: bool
    open_connections: bool
    """Whether anybody's stay has no end."""
    open_breakouts: bool = False
    """Whether that of somebody in a breakout room has none."""
    outcome: str | None = None
    """Of the newest comparison with Zoom's past data; None when there was none."""
    times: int = 0
    next_at: datetime | None = None
    """When that is due again; None where it never was asked, or is settled."""

    @property
    def settled(self) -> bool:
        """Whether nothing more is to be learned from Zoom's past data."""
        return self.outcome is not None and self.next_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """The newest visit to a room."""

    asked_at: datetime | None = None
    next_at: datetime | None = None
    rules: tuple[str, ...] = ()
    times: int = 0
    outcome: str | None = None
    got_at: datetime | None = None
    missing_at: datetime | None = None
    past_read_at: datetime | None = None
    suspicion: Suspicion | None = None
    suspected_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomFacts:
    """Everything that the rules look at."""

    account_id: str
    zoom_id: str
    existence: str
    ready_at: datetime | None
    """When a meeting of ours asked for it; None for rooms of others."""
    last_seen_at: datetime | None
    """Newest webhook about anything of the room."""
    wants_get: bool
    """Whether something changed of which only a GET can tell what."""
    spans: Sequence[Span]
    """Dates around the present, the earliest first."""
    runs: Sequence[RunFacts]
    """Newest first, but for runs of long ago."""
    silent_since: datetime | None = None
    """Since when its host or account is silent against its habit."""
    past_refused: bool = False
    """Whether Zoom refuses past data to the account."""
    visit: Visit = Visit()

    @property
    def is_gone(self) -> bool:
        """Whether nothing is left to ask about the room itself; a list that shows it all the same is a reason to."""
        if self.existence == "permanently_deleted":
            return True
        return self.existence in GONE and self.visit.suspicion != "changed"

    def span_before(self, at: datetime) -> Span | None:
        """The newest date that began by then."""
        return next((span for span in reversed(self.spans) if span.start_at <= at), None)
