"""The producer for an event loop: each record a future, many acknowledgements one wake-up, and a deadline for each.

Guarantees: a future ends within its time-out, whatever the broker does; at most `max_in_flight` records wait, and one
more is refused at once, so memory is bounded.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Self

from runtime.kafka.config import LINGER_MS
from runtime.kafka.producer import Delivery, Outgoing, Producer
from runtime.settings import KafkaSettings
from schemas.errors import Broken, RoomkeeperError, Unavailable

SWEEP_SECONDS = 0.05
"""How exact a deadline is. The client's own time-outs are a second late, and an HTTP answer has two to spare."""

Outcome = tuple[asyncio.Future[Delivery], Delivery | RoomkeeperError]


class AsyncProducer:
    """A `Producer` whose acknowledgements arrive in the event loop that made it."""

    def __init__(
        self,
        kafka: KafkaSettings,
        *,
        client_id: str,
        timeout_seconds: float,
        max_in_flight: int,
        linger_ms: int = LINGER_MS,
    ) -> None:
        """Must be made inside the running loop; a record waits `linger_ms` for others of its partition.

        Raises:
            Misconfigured: no broker is named, or a security setting does not hold.
        """
        self._loop = asyncio.get_running_loop()
        self._timeout_seconds = timeout_seconds
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        self._arrived: deque[Outcome] = deque()
        self._woken = False
        self._deadlines: deque[tuple[float, asyncio.Future[Delivery]]] = deque()
        self._sweeping: asyncio.TimerHandle | None = None
        self.broken: asyncio.Future[Broken] = self._loop.create_future()
        """Done when the client can never send again; the process must end."""
        # The last: its thread calls back from the moment that it is made.
        self._producer = Producer(
            kafka,
            client_id=client_id,
            timeout_seconds=timeout_seconds,
            linger_ms=linger_ms,
            after_poll=self._wake,
        )

    async def __aenter__(self) -> Self:
        """The producer itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.aclose()

    @property
    def in_flight(self) -> int:
        """Records whose fate the client does not know yet."""
        return self._in_flight

    def deliver(self, record: Outgoing) -> asyncio.Future[Delivery]:
        """A future of where the record lies. It fails as `Unavailable` in time, though the record may be there.

        Raises:
            Unavailable: too many records wait already.
            BadMessage: the record is too large.
        """
        if self._in_flight >= self._max_in_flight:
            raise Unavailable(f"{self._in_flight} records wait for the broker already")
        future: asyncio.Future[Delivery] = self._loop.create_future()
        self._producer.submit(record, lambda outcome: self._arrived.append((future, outcome)))
        self._in_flight += 1
        self._deadlines.append((self._loop.time() + self._timeout_seconds, future))
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(SWEEP_SECONDS, self._sweep)
        return future

    def look_up(self, topics: Iterable[str], *, timeout_seconds: float) -> None:
        """As `Producer.look_up`. Blocks: not for the event loop's own thread."""
        self._producer.look_up(topics, timeout_seconds=timeout_seconds)

    async def aclose(self, timeout_seconds: float = 5.0) -> None:
        """Wait for what is under way, at most so long, and stop."""
        await self._loop.run_in_executor(None, self._producer.close, timeout_seconds)
        self._drain()
        if self._sweeping is not None:
            self._sweeping.cancel()
        for _, future in self._deadlines:
            if not future.done():
                future.set_exception(Unavailable("the producer was closed"))

    def _wake(self) -> None:
        """In the polling thread: one wake-up for all that has arrived; a stale look at the flag costs one more."""
        if self._arrived and not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        self._woken = False
        while self._arrived:
            future, outcome = self._arrived.popleft()
            self._in_flight -= 1
            if isinstance(outcome, Broken) and not self.broken.done():
                self.broken.set_result(outcome)
            if future.done():
                continue
            if isinstance(outcome, Delivery):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)

    def _sweep(self) -> None:
        """Fails what has waited too long. All wait equally long, so the oldest stands first."""
        now = self._loop.time()
        while self._deadlines and (self._deadlines[0][1].done() or self._deadlines[0][0] <= now):
            _, future = self._deadlines.popleft()
            if not future.done():
                future.set_exception(Unavailable(f"no acknowledgement within {self._timeout_seconds:g} s"))
        self._sweeping = self._loop.call_later(SWEEP_SECONDS, self._sweep) if self._deadlines else None
