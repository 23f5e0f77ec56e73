"""A Zoom that answers at once, or never: what is left to measure is the room worker itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

from runtime.clock import Clock
from zoom.client.client import Call, Permit, Reply, always
from zoom.client.decisions import Decision, Ruling
from zoom.client.transport import Answer

_DONE = Ruling(decision=Decision.DONE, reason="done")


class Provider:
    """Stands in for the REST client: asks for the permit, as that does, and gives the answer to a create."""

    def __init__(self, *, clock: Clock, called: Callable[[Call], None], answers: bool = True) -> None:
        """`called` hears of each call when it would leave."""
        self._clock = clock
        self._called = called
        self._answers = answers
        self._numbers = count(91_000_000_001)

    async def call(self, call: Call, *, permit: Permit = always) -> Reply:
        """A room for every create."""
        await permit()
        self._called(call)
        if not self._answers:
            await asyncio.Event().wait()
        body = call.body or {}
        number = next(self._numbers)
        shown = {**body, "id": number, "uuid": f"{number}==", "host_id": "host", "join_url": "https://example.com/j"}
        answer = Answer(
            status=201, document=shown, code=-1, message="", headers={}, sent_at=self._clock.now(), elapsed_seconds=0.0
        )
        return Reply(ruling=_DONE, answer=answer, sent=True)
