"""What the poller saw, on its way to `zoom-events`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from reconciler.rooms.reporting import Sender
from runtime.clock import Clock
from runtime.kafka.producer import Outgoing
from runtime.topics import ZOOM_EVENTS, physical
from schemas.codec import encode
from schemas.records.zoom_events import ZoomEvent
from zoom.client.client import Reply
from zoom.client.decisions import NO_CODE
from zoom.observations import Asked, Kind, observation
from zoom.webhooks import record_key


class Witness:
    """Makes observations of answers, and hands them to the broker."""

    def __init__(self, sender: Sender, *, clock: Clock, topic_prefix: str) -> None:
        """Through this sender."""
        self._sender = sender
        self._clock = clock
        self._topic = physical(ZOOM_EVENTS, prefix=topic_prefix)

    def saw(
        self,
        kind: Kind,
        reply: Reply,
        *,
        account_id: str,
        zoom_id: str,
        uuid: str | None = None,
        answer: Mapping[str, Any] | None = None,
        every_occurrence: bool = False,
    ) -> ZoomEvent:
        """The observation of a whole answer, or of `answer`, which is one row of it; as of when it was asked for.

        `every_occurrence` says that the call asked for past dates too.
        """
        if reply.answer is None:
            raise AssertionError("nothing was observed")
        asked = Asked(
            sent_at=reply.answer.sent_at,
            elapsed_seconds=reply.answer.elapsed_seconds,
            status=reply.answer.status,
            date=reply.answer.date,
            code=None if reply.answer.code == NO_CODE else reply.answer.code,
            lists_every_occurrence=every_occurrence,
        )
        return observation(
            kind,
            account_id=account_id,
            zoom_id=zoom_id,
            uuid=uuid,
            asked=asked,
            answer=reply.document if answer is None else answer,
            received_at=self._clock.now(),
        )

    async def tell(self, events: Iterable[ZoomEvent]) -> int:
        """Return how many there were when the broker has acknowledged all. Raises `Unavailable`."""
        records = [Outgoing(topic=self._topic, key=record_key(event).encode(), value=encode(event)) for event in events]
        await asyncio.gather(*(self._sender.deliver(record) for record in records))
        return len(records)
