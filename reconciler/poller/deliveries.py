"""Webhooks that did not reach us, taken from Zoom's own logs and sent the way that they would have gone.

Guarantees: each delivery that Zoom gave up on in the last seven days goes to `zoom-events` with its original bytes,
under its own request id, through the parser that all webhooks pass; what cannot be read becomes a dead letter, as at
ingress. Reading is resumed where it stopped, and a pass makes a bounded number of calls. A delivery is noted as taken
once the broker has it: after a crash it may be sent twice, which does no harm.

One that Zoom would still try again is taken too, for nobody retries it any more when the subscription is switched off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

import structlog

from reconciler.poller.redelivery import Redelivery
from reconciler.poller.webhook_logs import KEPT, Delivery, Place, Stretch, delivery_of
from reconciler.rooms.reporting import Sender
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.metrics.registry import Metrics
from runtime.postgres import AsyncDatabase
from runtime.settings import Settings
from zoom.client.client import Call, Permit, Reply, ZoomClient
from zoom.client.decisions import Decision
from zoom.client.endpoints import WEBHOOK_LOGS

PAGE_SIZE = 100
"""Entries hold whole bodies and headers: more of them could be larger than an answer may be."""
PAGES = 4
"""Of one stretch of time; what has more is asked for in half."""
MOST_PAGES = 200
"""Of a stretch that cannot be halved any more."""
CALLS = 40
"""Of one pass; a stretch that was begun is finished."""


class _End(Enum):
    """How the reading of a stretch ended."""

    READ = "read"
    TOO_LONG = "too_long"
    STOPPED = "stopped"
    """Zoom did not answer as it should."""


@dataclass(slots=True, kw_only=True)
class _Tally:
    calls: int = 0
    taken: int = 0


class Deliveries:
    """Reads the logs of accounts' apps."""

    def __init__(
        self,
        database: AsyncDatabase,
        *,
        client: ZoomClient,
        sender: Sender,
        settings: Settings,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        """`client` serves every account that will be asked for.

        Raises:
            Misconfigured: there is no key to seal unreadable bodies with.
        """
        self._statements = Statements(database, package="reconciler.poller")
        self._client = client
        self._sender = sender
        self._redelivery = Redelivery(settings, clock=clock, metrics=metrics)
        self._refused_for = timedelta(seconds=settings.poller.refused_seconds)
        self._clock = clock
        self._log = structlog.get_logger("roomkeeper.poller")

    async def fetch(self, account_id: str, *, permit: Permit) -> int:
        """Take what is in the logs since the last time, and say how many deliveries that were.

        Where Zoom refuses, nothing is lost: the next pass goes on from the same place.

        Raises:
            Unavailable: the database or the broker is away.
        """
        tally, place = _Tally(), await self._place(account_id)
        while tally.calls < CALLS and not await self._is_refused(account_id):
            now = self._clock.now()
            stretch = place.stretch(now)
            most = MOST_PAGES if place.is_narrowest else PAGES
            end = await self._read(account_id, stretch, most_pages=most, permit=permit, tally=tally)
            if end is _End.STOPPED:
                break
            place = place.narrower() if end is _End.TOO_LONG else place.past(stretch)
            await self._keep(account_id, place)
            if place.read_until >= now:
                break
        return tally.taken

    async def _read(self, account_id: str, stretch: Stretch, *, most_pages: int, permit: Permit, tally: _Tally) -> _End:
        """Page by page. What was taken stays taken, whatever the end."""
        query = {**stretch.query, "page_size": str(PAGE_SIZE)}
        for _ in range(most_pages):
            call = Call(endpoint=WEBHOOK_LOGS, account_id=account_id, query=query)
            reply = await self._client.call(call, permit=permit)
            tally.calls += 1
            if reply.ruling.decision is not Decision.DONE:
                await self._stopped(account_id, reply)
                return _End.STOPPED
            tally.taken += await self._take(account_id, self._deliveries(reply))
            token = reply.document.get("next_page_token")
            if not token:
                return _End.READ
            query = query | {"next_page_token": str(token)}
        if most_pages < MOST_PAGES:
            return _End.TOO_LONG
        self._log.error("poller.logs_skipped", account=account_id, since=stretch.since, until=stretch.until)
        return _End.READ

    async def _stopped(self, account_id: str, reply: Reply) -> None:
        """What an app may not read is not asked for again for a day."""
        reason, now = reply.ruling.reason, self._clock.now()
        self._log.warning("poller.logs_unread", account=account_id, reason=reason)
        if reply.ruling.decision is Decision.REFUSE or reason == "missing_scope":
            await self._statements.run(
                "note_refusal",
                account_id=account_id,
                endpoint=WEBHOOK_LOGS.name,
                reason=reason,
                now=now,
                until_at=now + self._refused_for,
            )

    async def _is_refused(self, account_id: str) -> bool:
        rows = await self._statements.many("find_refusals", accounts=[account_id], now=self._clock.now())
        return any(row["endpoint"] == WEBHOOK_LOGS.name for row in rows)

    def _deliveries(self, reply: Reply) -> Sequence[Delivery]:
        """Each delivery of a page once; its attempts have one id."""
        entries, now = reply.document["webhook_logs"], self._clock.now()
        found = (delivery_of(entry, now=now) for entry in (entries if isinstance(entries, list) else ()))
        return tuple({each.request_id: each for each in found if each is not None}.values())

    async def _take(self, account_id: str, deliveries: Sequence[Delivery]) -> int:
        """Send those that were not taken yet, note them, and say how many they are."""
        ids = [each.request_id for each in deliveries]
        rows = await self._statements.many("find_taken", account_id=account_id, request_ids=ids) if ids else []
        known = {row["request_id"] for row in rows}
        fresh = [each for each in deliveries if each.request_id not in known]
        records = [record for each in fresh if (record := self._redelivery.record(account_id, each)) is not None]
        await asyncio.gather(*(self._sender.deliver(record) for record in records))
        if fresh:
            taken = [each.request_id for each in fresh]
            await self._statements.run("note_taken", account_id=account_id, request_ids=taken, now=self._clock.now())
        return len(fresh)

    async def _place(self, account_id: str) -> Place:
        now = self._clock.now()
        await self._statements.run("forget_taken", account_id=account_id, before=now - KEPT - KEPT)
        row = await self._statements.one("find_log_place", account_id=account_id)
        if row is None:
            return Place.first(now)
        return Place(read_until=row["read_until"], span=timedelta(seconds=row["span_seconds"]))

    async def _keep(self, account_id: str, place: Place) -> None:
        await self._statements.run(
            "keep_log_place",
            account_id=account_id,
            read_until=place.read_until,
            span_seconds=place.span.total_seconds(),
        )
