"""The right to call: asked for anew before anything is sent, because another worker may hold the row by now."""

from __future__ import annotations

from reconciler.rooms.queue import Queue, Request


class LeaseLost(Exception):
    """The row is gone, or another worker's."""


class Lease:
    """One claim's permits. It remembers whether anything that changes Zoom was sent under it."""

    def __init__(self, queue: Queue, request: Request) -> None:
        """Of this claim."""
        self._queue = queue
        self._request = request
        self.acted = False

    async def to_write(self) -> None:
        """Permit for a call that changes something; marks the row as started.

        Raises:
            LeaseLost: the claim does not hold any more.
        """
        if not await self._queue.start(self._request, counted=not self.acted):
            raise LeaseLost
        self.acted = True

    async def to_read(self) -> None:
        """Permit for a call that changes nothing.

        Raises:
            LeaseLost: the claim does not hold any more.
        """
        if not await self.is_held():
            raise LeaseLost

    async def is_held(self) -> bool:
        """Whether the claim still holds."""
        return await self._queue.holds(self._request)
