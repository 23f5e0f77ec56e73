"""Refused webhooks, counted together: one record on `security-alerts` for each reason, minute and process.

Guarantees: counting takes no time worth measuring and never fails, so no 401 waits for it; memory is bounded by the
number of reasons; while the broker is away, the newest `BACKLOG` records are kept.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import datetime

import structlog

from runtime.clock import Clock
from runtime.kafka.async_producer import AsyncProducer
from runtime.kafka.producer import Outgoing
from runtime.topics import SECURITY_ALERTS, physical
from schemas.codec import encode
from schemas.errors import RoomkeeperError
from schemas.ids import derive
from schemas.records.security_alerts import SecurityAlert

ACCOUNT_UNKNOWN = "account_unknown"
"""The body, or the path, is for an account that its secret does not speak for."""
CHALLENGE_REFUSED = "challenge_refused"
"""A URL validation whose token could be something to sign."""
BACKLOG = 600
CHECK_SECONDS = 1.0


@dataclass(slots=True, kw_only=True)
class _Tally:
    account_id: str | None
    path: str
    count: int
    first_at: datetime
    last_at: datetime


class Refusals:
    """Counts refusals, and sends what a minute has brought when it is over."""

    def __init__(self, *, clock: Clock, producer: AsyncProducer, topic_prefix: str, process: str) -> None:
        """`process` names this process among all that run."""
        self._clock = clock
        self._producer = producer
        self._topic = physical(SECURITY_ALERTS, prefix=topic_prefix)
        self._process = process
        self._minute = self._minute_now()
        self._tallies: dict[str, _Tally] = {}
        self._unsent: deque[SecurityAlert] = deque(maxlen=BACKLOG)
        self._log = structlog.get_logger("roomkeeper.ingress")

    def count(self, reason: str, *, account_id: str | None, path: str) -> None:
        """One more. `account_id` is a configured account that was claimed, else None."""
        self._turn()
        now = self._clock.now()
        tally = self._tallies.get(reason)
        if tally is None:
            self._tallies[reason] = _Tally(account_id=account_id, path=path, count=1, first_at=now, last_at=now)
            return
        tally.count += 1
        tally.last_at = now
        if tally.account_id != account_id:
            tally.account_id = None

    async def run(self) -> None:
        """Send each minute's records; ends by cancellation."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self._turn()
            await self.send()

    async def flush(self) -> None:
        """Send what there is, the present minute's too."""
        self._close_minute()
        await self.send()

    async def send(self) -> None:
        """Send the records of minutes that are over; what fails stays for the next time."""
        while self._unsent:
            alert = self._unsent[0]
            try:
                await self._producer.deliver(
                    Outgoing(topic=self._topic, key=alert.reason.encode(), value=encode(alert))
                )
            except RoomkeeperError as error:
                self._log.warning("ingress.alert_unsent", reason=alert.reason, count=alert.count, error=str(error))
                return
            if self._unsent and self._unsent[0] is alert:
                self._unsent.popleft()

    def _turn(self) -> None:
        if self._minute_now() != self._minute:
            self._close_minute()

    def _close_minute(self) -> None:
        for reason, tally in self._tallies.items():
            self._log.warning(
                "ingress.refused", reason=reason, count=tally.count, account_id=tally.account_id, path=tally.path
            )
            self._unsent.append(self._alert(reason, tally))
        self._tallies = {}
        self._minute = self._minute_now()

    def _alert(self, reason: str, tally: _Tally) -> SecurityAlert:
        return SecurityAlert(
            alert_id=derive("alert", self._process, reason, str(self._minute), tally.first_at.isoformat()),
            reason=reason,
            account_id=tally.account_id,
            path=tally.path,
            process=self._process,
            count=tally.count,
            first_at=tally.first_at,
            last_at=tally.last_at,
        )

    def _minute_now(self) -> int:
        return int(self._clock.now().timestamp()) // 60
