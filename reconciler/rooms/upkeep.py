"""What the room worker does besides its requests, over and over: read-backs and sweeps."""

from __future__ import annotations

import asyncio
from typing import Protocol

import structlog

from runtime.backoff import Backoff
from runtime.randomness import Random
from schemas.errors import Unavailable


class Chore(Protocol):
    """Work that is due now and then; rows in PostgreSQL say when, so that processes share it."""

    async def run_once(self) -> int:
        """Do what is due, and say how much that was. Raises `Unavailable`."""


async def repeat(chore: Chore, *, name: str, every_seconds: float, random: Random) -> None:
    """Do the chore for ever: at once while there is some, else every so often. Ends by cancellation."""
    log = structlog.get_logger("roomkeeper.rooms")
    trouble = Backoff(0.5, 30.0, random)
    while True:
        try:
            done = await chore.run_once()
            trouble.reset()
        except Unavailable as error:
            log.warning("rooms.chore_waiting", chore=name, error=str(error))
            await asyncio.sleep(trouble.next_seconds(at_least=0.5))
            continue
        if not done:
            await asyncio.sleep(random.uniform(0.5, 1.5) * every_seconds)
