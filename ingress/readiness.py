"""Whether this process can do its work: its producer is connected and knows the declared topics, the database answers.

It does not depend on a URL validation having been seen: Zoom may never send one. An answer is good for a moment, so
that many who ask cost no more than one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from runtime.queries import queries
from schemas.errors import RoomkeeperError

GOOD_SECONDS = 1.0
PATIENCE_SECONDS = 4.0


class Readiness:
    """Asks broker and database."""

    def __init__(self, *, database: AsyncDatabase, check_topics: Callable[[], None], clock: Clock) -> None:
        """`check_topics` blocks, and raises when the topics are not as declared or the producer is not connected."""
        self._database = database
        self._check_topics = check_topics
        self._clock = clock
        self._asking = asyncio.Lock()
        self._asked_at = float("-inf")
        self._faults: tuple[str, ...] = ()
        self._checking: asyncio.Task[None] | None = None

    async def faults(self) -> tuple[str, ...]:
        """What is the matter, a sentence each; empty when all is well."""
        async with self._asking:
            if self._clock.monotonic_seconds() - self._asked_at >= GOOD_SECONDS:
                found = await asyncio.gather(self._broker(), self._postgres())
                self._faults = tuple(fault for fault in found if fault is not None)
                self._asked_at = self._clock.monotonic_seconds()
        return self._faults

    async def _broker(self) -> str | None:
        """A thread cannot be called back: one that a dead broker holds up is waited for again, and no other started."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(asyncio.to_thread(self._check_topics))
        done, _ = await asyncio.wait({self._checking}, timeout=PATIENCE_SECONDS)
        if not done:
            return f"Kafka: no answer within {PATIENCE_SECONDS:g} s"
        try:
            self._checking.result()
        except RoomkeeperError as error:
            return f"Kafka: {error}"
        return None

    async def _postgres(self) -> str | None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._database.connection("ask the database") as connection:
                await connection.execute(queries("ingress")["answers"])
        except RoomkeeperError as error:
            return f"PostgreSQL: {error}"
        except TimeoutError:
            return f"PostgreSQL: no answer within {PATIENCE_SECONDS:g} s"
        return None
