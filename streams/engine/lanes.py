"""All lanes of a worker: which records may be fetched, where batches go, and what happens when one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog
from faust.types import TP

from streams.engine.batch import Batch
from streams.engine.lane import Lane


class Lanes:
    """The lanes that this worker has now. Lives in the event loop."""

    def __init__(self) -> None:
        """No lanes yet."""
        self.failed = asyncio.Event()
        self.reason: BaseException | None = None
        """The first reason for which the process must end."""
        self._lanes: dict[TP, Lane] = {}
        self._closing: tuple[Lane, ...] = ()
        self._room = asyncio.Event()

    def open(self, lanes: Iterable[Lane]) -> None:
        """Start lanes whose producers are fenced and whose sources stand at the committed offsets."""
        opened = dict(self._lanes)
        for lane in lanes:
            lane.start().add_done_callback(self._ended)
            opened.update((TP(source.topic, source.partition), lane) for source in lane.sources.values())
        self._lanes = opened  # replaced, never changed: the watchdog reads it from its thread
        self._room.set()

    def put(self, batch: Batch) -> None:
        """Hand a batch to its lane; without one it is dropped: its partition was revoked, nothing of it committed."""
        lane = self._lanes.get(TP(batch.topic, batch.partition))
        if lane is not None:
            lane.put(batch)

    def with_room(self, partitions: Iterable[TP]) -> set[TP]:
        """Those of the partitions whose lanes take more records."""
        return {tp for tp in partitions if (lane := self._lanes.get(tp)) is not None and lane.has_room}

    async def wait_for_room(self, *, timeout_seconds: float) -> None:
        """Returns when a lane has taken something from its backlog, or after the timeout."""
        self._room.clear()
        try:
            await asyncio.wait_for(self._room.wait(), timeout_seconds)
        except TimeoutError:
            return

    def room_made(self) -> None:
        """A lane has taken something from its backlog."""
        self._room.set()

    def positions(self) -> dict[TP, int]:
        """The committed offset of each source partition."""
        return {tp: lane.sources[tp.topic].committed for tp, lane in self._lanes.items()}

    def oldest_commit(self) -> float | None:
        """When the longest of the commits under way began, by the monotonic clock."""
        lanes = (*self._lanes.values(), *self._closing)
        return min((since for lane in lanes if (since := lane.committing_since) is not None), default=None)

    async def close(self) -> None:
        """Commit what is folded, drop the rest, and let go of every lane."""
        lanes, self._lanes = set(self._lanes.values()), {}
        self._closing = tuple(lanes)
        await asyncio.gather(*(lane.close() for lane in lanes))
        self._closing = ()

    def fail(self, reason: BaseException) -> None:
        """The process must end; the first reason counts."""
        if self.reason is None:
            self.reason = reason
            self.failed.set()
            structlog.get_logger("roomkeeper.streams").error(
                "streams.failed", kind=type(reason).__name__, reason=str(reason), exc_info=reason
            )

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.fail(error)
