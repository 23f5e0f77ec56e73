"""Sends events as Zoom does: signed over the raw bytes, three seconds to answer, three retries.

A retry comes 5, 20 and 60 minutes later (divided by the speed), and only after a status of 500 or more, or no answer at
all; 3xx and 4xx are final. Body and request id stay the same, timestamp and signature are made anew.
Source: Zoom's webhook page; first retry as recorded.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass

from runtime.clock import Clock
from runtime.randomness import Random
from simulator.delivery_log import Attempt, DeliveryLog
from simulator.faults import Fault, Faults, Kind, Subject, Target
from simulator.identifiers import Identifiers
from simulator.model import Account
from simulator.payloads.recordings import with_other_token
from simulator.poster import Answer, Poster, PostFailed
from simulator.signature import sign
from simulator.wire import Json, encode
from simulator.world import Emission

ANSWER_SECONDS = 3.0
RETRY_SECONDS = (300.0, 1_200.0, 3_600.0)
_AT_ONCE = 256
_MOST_PENDING = 500_000


@dataclass(slots=True, kw_only=True)
class Delivery:
    """One event on its way."""

    account: Account
    event: str
    zoom_id: str
    body: bytes
    request_id: str
    tracking_id: str
    secret: str | None = None
    """Signs in place of the account's."""
    retry_num: int = 0
    lose_requests: int = 0
    lose_answers: int = 0


class Deliveries:
    """The way of events from the world to the endpoints."""

    def __init__(
        self, *, clock: Clock, random: Random, ids: Identifiers, faults: Faults, speed: float, latency_seconds: float
    ) -> None:
        """Nothing is sent before the event loop runs."""
        self.log = DeliveryLog()
        self.counts: Counter[str] = Counter()
        self.by_event: Counter[str] = Counter()
        self.pending = 0
        self.speed = speed
        self._clock, self._random, self._ids, self._faults = clock, random, ids, faults
        self._latency_seconds = latency_seconds
        self._poster = Poster()
        self._due: deque[Delivery] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def take(self, emission: Emission) -> None:
        """Accepts an event from the world, with whatever faults strike it."""
        self.counts["emitted"] += 1
        self.by_event[emission.event.name] += 1
        if emission.account.webhook_url is None:
            self.counts["unsubscribed"] += 1
            return
        room = emission.room
        subject = Subject(
            target=Target.WEBHOOK,
            name=emission.event.name,
            account_id=emission.account.account_id,
            hosts=(room.host.email, room.host.host_id),
            zoom_id=str(room.number),
        )
        delivery = self._new(emission.account, emission.event.name, str(room.number), emission.event.body)
        delay = self._random.uniform(0, 2 * self._latency_seconds)
        for fault in self._faults.strike(subject):
            self.counts[fault.kind.value] += 1
            if fault.kind in (Kind.DROP, Kind.GIVE_UP):
                if fault.kind is Kind.GIVE_UP:
                    self._log_giving_up(delivery)
                return
            delay += self._apply(fault, delivery, emission.event.body)
        self._later(delay, delivery)

    def send(self, account: Account, *, event: str, body: bytes, secret: str | None = None) -> Delivery:
        """Sends bytes of any kind now, signed, under Zoom's retry rules."""
        delivery = self._new(account, event, "", body)
        delivery.secret = secret
        self._later(0, delivery)
        return delivery

    async def post_once(self, account: Account, body: bytes) -> Answer:
        """Sends bytes once, signed, outside the retry rules; for the challenge.

        Raises:
            PostFailed: no answer came within three seconds.
        """
        delivery = self._new(account, "endpoint.url_validation", "", body)
        url = account.webhook_url or ""
        return await self._poster.post(url, headers=self._headers(delivery), body=body, timeout_seconds=ANSWER_SECONDS)

    async def settled(self, timeout_seconds: float) -> bool:
        """Waits until nothing is on its way, retries included; False when that takes too long."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Ends everything on its way."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._poster.close()

    def _new(self, account: Account, event: str, zoom_id: str, body: Json | bytes) -> Delivery:
        return Delivery(
            account=account,
            event=event,
            zoom_id=zoom_id,
            body=body if isinstance(body, bytes) else encode(body),
            request_id=self._ids.request_id(),
            tracking_id=f"v=2.0;clid=us02;rid=WEB_{self._ids.hexadecimal(32)}",
        )

    def _apply(self, fault: Fault, delivery: Delivery, body: Json) -> float:
        if fault.kind is Kind.DUPLICATE:
            self._later(fault.seconds, self._copy(delivery, body, shift_ms=fault.shift_ms))
        elif fault.kind is Kind.DELAY:
            return fault.seconds
        elif fault.kind is Kind.REORDER:
            return self._faults.chance() * fault.seconds
        elif fault.kind is Kind.FAIL:
            delivery.lose_requests = fault.attempts
        elif fault.kind is Kind.UNHEARD:
            delivery.lose_answers = fault.attempts
        elif fault.kind is Kind.BAD_SIGNATURE:
            delivery.secret = self._ids.opaque()
        return 0.0

    def _copy(self, delivery: Delivery, body: Json, *, shift_ms: int) -> Delivery:
        copy = {**body, "event_ts": body["event_ts"] + shift_ms} if shift_ms and "event_ts" in body else body
        if delivery.event == "recording.completed":
            copy = with_other_token(copy, self._ids)
        return self._new(delivery.account, delivery.event, delivery.zoom_id, copy)

    def _later(self, seconds: float, delivery: Delivery) -> None:
        if self.pending >= _MOST_PENDING:
            self.counts["overflowed"] += 1
            return
        self.pending += 1
        self._idle.clear()
        asyncio.get_running_loop().call_later(seconds / self.speed, self._start, delivery)

    def _start(self, delivery: Delivery) -> None:
        if len(self._tasks) >= _AT_ONCE:
            self._due.append(delivery)
            return
        task = asyncio.get_running_loop().create_task(self._attempt(delivery))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.pending -= 1
        if self.pending == 0:
            self._idle.set()
        elif self._due and not task.cancelled():
            self._start(self._due.popleft())

    async def _attempt(self, delivery: Delivery) -> None:
        url = delivery.account.webhook_url
        if url is None:
            self.counts["unsubscribed"] += 1
            return
        headers = self._headers(delivery)
        self.counts["sent" if delivery.retry_num == 0 else "retried"] += 1
        status, reason, answer = await self._outcome(url, headers, delivery)
        self._record(delivery, url=url, headers=headers, status=status, reason=reason, answer=answer)
        if 200 <= status < 300:
            self.counts["acknowledged"] += 1
        elif 0 <= status < 500:
            self.counts["refused"] += 1
        elif delivery.retry_num < len(RETRY_SECONDS):
            self._later(RETRY_SECONDS[delivery.retry_num], delivery)
            delivery.retry_num += 1
        else:
            self.counts["given_up"] += 1

    async def _outcome(self, url: str, headers: dict[str, str], delivery: Delivery) -> tuple[int, int | None, bytes]:
        if delivery.lose_requests > 0:
            delivery.lose_requests -= 1
            return -1, PostFailed.REFUSED, b""
        try:
            answer = await self._poster.post(url, headers=headers, body=delivery.body, timeout_seconds=ANSWER_SECONDS)
        except PostFailed as failure:
            return -1, failure.reason, b""
        if delivery.lose_answers > 0:
            delivery.lose_answers -= 1
            return -1, PostFailed.TIMED_OUT, b""
        return answer.status, None, answer.body

    def _headers(self, delivery: Delivery) -> dict[str, str]:
        timestamp = int(self._clock.now().timestamp())
        secret = delivery.secret if delivery.secret is not None else delivery.account.webhook_secret
        return {
            "user-agent": "Zoom Marketplace/1.0a",
            "content-type": "application/json; charset=utf-8",
            "authorization": "legacy-verification-token",
            "clientid": delivery.account.client_id,
            "traceparent": f"00-{delivery.request_id.replace('_', '')}-0000000000000001-00",
            "x-zm-request-id": delivery.request_id,
            "x-zm-trackingid": delivery.tracking_id,
            "x-zm-request-timestamp": str(timestamp),
            "x-zm-signature": sign(secret, timestamp=timestamp, body=delivery.body),
        }

    def _record(
        self, delivery: Delivery, *, url: str, headers: dict[str, str], status: int, reason: int | None, answer: bytes
    ) -> None:
        self.log.add(
            Attempt(
                account_id=delivery.account.account_id,
                event=delivery.event,
                zoom_id=delivery.zoom_id,
                request_id=delivery.request_id,
                tracking_id=delivery.tracking_id.rpartition("rid=")[2],
                endpoint=url,
                headers=headers,
                body=delivery.body,
                retry_num=delivery.retry_num,
                at=self._clock.now(),
                status=status,
                reason=reason,
                answer=answer[:1024],
            )
        )

    def _log_giving_up(self, delivery: Delivery) -> None:
        url = delivery.account.webhook_url or ""
        for delivery.retry_num in range(len(RETRY_SECONDS) + 1):
            headers = self._headers(delivery)
            self._record(delivery, url=url, headers=headers, status=-1, reason=PostFailed.REFUSED, answer=b"")
