"""The queue of room requests in PostgreSQL: claims, leases, epochs, settlement.

Guarantees: a row is in one claim at a time, and each claim has an epoch that no other ever had; whatever is written or
asked under an epoch counts only while that epoch is the row's. Every claim is committed before its rows are returned.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from reconciler.rooms.results import Concluded, Kept, Park
from reconciler.rooms.together import Together
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from runtime.settings import RoomSettings
from schemas.codec import decode
from schemas.ids import AccountId, MeetingId, ProviderKey, ZoomId
from schemas.records.meeting_events import MeetingState, RegistrantState

REGISTRANT_ACTIONS = frozenset({"register", "approve", "deny", "unregister"})
FRESH_SHARE = 1 / 16
"""A lease of which no more than this has passed need not begin anew with a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A claimed row."""

    account_id: AccountId
    meeting_id: MeetingId
    provider_key: ProviderKey
    action: str
    lane: str
    n: int
    host: str
    zoom_id: ZoomId | None
    added_at: datetime
    epoch: int
    attempts: int
    looks: int
    started_at: datetime | None
    unknown_at: datetime | None
    retried: bool

    @property
    def concerns_registrant(self) -> bool:
        """Whether it is about a person, not a room."""
        return self.action in REGISTRANT_ACTIONS

    @property
    def decides(self) -> bool:
        """Whether it decides about a registered person, which one call can do for many."""
        return self.concerns_registrant and self.action != "register"

    @property
    def may_have_acted(self) -> bool:
        """Whether a call of an earlier claim may have had its effect."""
        return self.started_at is not None or self.retried


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A row with the meeting as it was when it was claimed."""

    request: Request
    meeting: MeetingState
    registrant: RegistrantState | None
    """In work about one."""


class Queue:
    """One worker's view of the queue."""

    def __init__(self, database: AsyncDatabase, *, worker: str, clock: Clock, settings: RoomSettings) -> None:
        """`worker` names the process to operators; epochs, not names, decide who holds what."""
        self._statements = Statements(database)
        self._worker = worker
        self._clock = clock
        self._settings = settings
        self._start = Together(self._start_all)
        self._hold = Together(self._hold_all)
        self._settle = Together(self._settle_all)

    async def claim(self, accounts: Sequence[str], *, rows: int) -> list[Claimed]:
        """Due rows of these accounts, at most so many, under a fresh lease."""
        now = self._clock.now()
        found = await self._statements.many(
            "claim_requests",
            now=now,
            accounts=list(accounts),
            rows=rows,
            worker=self._worker,
            lease_end=self._lease_end(now),
            unsure_until=now + timedelta(seconds=self._settings.unsure_seconds),
        )
        return [_claimed(row) for row in found]

    async def claim_siblings(self, request: Request, *, rows: int) -> list[Claimed]:
        """Further due rows that decide the same about other registrants of the request's meeting."""
        now = self._clock.now()
        found = await self._statements.many(
            "claim_siblings",
            account_id=request.account_id,
            meeting_id=request.meeting_id,
            action=request.action,
            now=now,
            rows=rows,
            worker=self._worker,
            lease_end=self._lease_end(now),
        )
        return [_claimed(row) for row in found]

    async def claim_unavailable(self, accounts: Sequence[str], *, rows: int) -> list[tuple[Request, str | None]]:
        """Due rows of all accounts but these, not told yet that nobody will call; with the e-mail of a registrant."""
        now = self._clock.now()
        found = await self._statements.many(
            "claim_unavailable",
            now=now,
            accounts=list(accounts),
            rows=rows,
            worker=self._worker,
            lease_end=self._lease_end(now),
        )
        return [(_request(row), row["email"]) for row in found]

    async def start(self, request: Request, *, counted: bool) -> bool:
        """Mark that something is about to be sent, and begin the lease anew; False where the claim is lost."""
        return await self._start(request.epoch, _key(request) | {"counted": int(counted)})

    async def holds(self, request: Request) -> bool:
        """Whether the claim still holds."""
        return await self._hold(request.epoch, _key(request))

    async def renew(self, requests: Iterable[Request]) -> None:
        """Prolong the leases of these claims, where they still hold."""
        keys = [_key(request) for request in requests]
        if keys:
            columns = {name: [key[name] for key in keys] for name in keys[0]}
            await self._statements.run("renew_leases", **columns, lease_end=self._lease_end(self._clock.now()))

    async def settle(self, request: Request, concluded: Concluded) -> bool:
        """Note that the outcome is in Kafka; False where the row is gone or another's, which is no harm."""
        outcome = {
            "outcome": concluded.outcome,
            "error_code": concluded.error_code,
            "error_message": concluded.error_message,
        }
        return await self._settle(request.epoch, _key(request) | outcome)

    async def keep(self, request: Request, kept: Kept) -> None:
        """Give the row back to be tried again."""
        await self._statements.run(
            "keep_request",
            **_key(request),
            due_at=kept.due_at,
            outcome=kept.outcome,
            error_code=kept.code,
            error_message=kept.message,
            attempts=int(kept.counted) - int(kept.started),
            looks=kept.looks,
            unknown_at=kept.unknown_at,
            harmless=kept.harmless,
        )

    async def park(self, account_id: str, park: Park) -> None:
        """Let nobody claim what would be in vain."""
        await self._statements.run(
            "park",
            account_id=account_id,
            scope=park.scope,
            host=park.host,
            now=self._clock.now(),
            until_at=park.until_at,
            reason=park.reason,
        )

    async def doubt(self, request: Request) -> None:
        """Have the meeting's room read back for a while."""
        now = self._clock.now()
        until_at = now + timedelta(seconds=self._settings.unsure_seconds)
        await self._statements.run(
            "doubt_meeting", account_id=request.account_id, meeting_id=request.meeting_id, now=now, until_at=until_at
        )

    async def announced(self, account_id: str, *, host: str, topic: str, since_at: datetime) -> list[ZoomId]:
        """Numbers of rooms that webhooks announced for a host or under a topic, and that are no meeting's."""
        asked = {"account_id": account_id, "host": host, "topic": topic, "since_at": since_at}
        found = await self._statements.many("announced_rooms", **asked)
        return [ZoomId(row["zoom_id"]) for row in found]

    async def _start_all(self, rows: Sequence[Mapping[str, Any]]) -> Container[int]:
        now = self._clock.now()
        lease_end = self._lease_end(now)
        fresh_end = lease_end - timedelta(seconds=self._settings.lease_seconds * FRESH_SHARE)
        return await self._epochs("start_requests", rows, now=now, lease_end=lease_end, fresh_end=fresh_end)

    async def _hold_all(self, rows: Sequence[Mapping[str, Any]]) -> Container[int]:
        return await self._epochs("hold_requests", rows)

    async def _settle_all(self, rows: Sequence[Mapping[str, Any]]) -> Container[int]:
        now = self._clock.now()
        again_at = now + timedelta(seconds=self._settings.retried_after_seconds)
        return await self._epochs("settle_requests", rows, now=now, again_at=again_at)

    async def _epochs(self, query: str, rows: Sequence[Mapping[str, Any]], **values: Any) -> Container[int]:
        """The epochs of those claims that still hold."""
        claims = orjson.dumps(rows).decode()
        return {row["epoch"] for row in await self._statements.many(query, claims=claims, **values)}

    def _lease_end(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self._settings.lease_seconds)


def _key(request: Request) -> dict[str, Any]:
    return {"account_id": request.account_id, "provider_key": request.provider_key, "epoch": request.epoch}


def _claimed(row: Mapping[str, Any]) -> Claimed:
    person = row["registrant_state"]
    return Claimed(
        request=_request(row),
        meeting=decode(bytes(row["state"]), MeetingState),
        registrant=None if person is None else decode(bytes(person), RegistrantState),
    )


def _request(row: Mapping[str, Any]) -> Request:
    return Request(
        account_id=row["account_id"],
        meeting_id=MeetingId(str(row["meeting_id"])),
        provider_key=row["provider_key"],
        action=row["action"],
        lane=row["lane"],
        n=row["n"],
        host=row["host"],
        zoom_id=row["zoom_id"],
        added_at=row["added_at"],
        epoch=row["epoch"],
        attempts=row["attempts"],
        looks=row["looks"],
        started_at=row["started_at"],
        unknown_at=row["unknown_at"],
        retried=row["retried"],
    )
