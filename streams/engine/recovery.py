"""Faust's recovery, replaced: take the partitions over, seek to what is committed after the fence, let records flow.

Faust reads no changelog here. Its own recovery resumes partitions before its seek is through (records are lost), ends
for good on a mere time-out, and trusts offsets that another owner may still move.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, cast

import structlog
from faust.tables.manager import TableManager as FaustTableManager
from faust.tables.recovery import Recovery as FaustRecovery
from faust.types import TP
from mode import Service

from streams.engine.restore import Stopped
from streams.engine.takeover import TakenLane

if TYPE_CHECKING:
    from streams.engine.app import App


class Recovery(FaustRecovery):
    """Runs one take-over at a time, in a thread; the rebalance's callback returns at once."""

    _taking: asyncio.Task[None] | None = None
    _step: asyncio.Future[list[TakenLane]] | None = None
    _stop: threading.Event = threading.Event()

    @Service.task
    async def _restart_recovery(self) -> None:
        """Nothing: there is no recovery by Faust."""

    @Service.task
    async def _slurp_changelogs(self) -> None:
        """Nothing: no changelog record comes this way."""

    @Service.task
    async def _publish_stats(self) -> None:
        """Nothing: the bulk restore tells its own progress."""

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Begin to take the assigned partitions over, and return."""
        await self.cancel()
        self._stop = threading.Event()
        app = cast("App", self.app)
        sources = {tp for tp in assigned if not self._is_changelog_tp(tp)}
        app.stop_flow()
        self._taking = asyncio.create_task(self._take_over(app, sources, generation_id), name="take-over")
        self._taking.add_done_callback(self._ended)

    async def cancel(self) -> None:
        """End a take-over that is under way; returns when it holds nothing any more."""
        self._stop.set()
        if self._step is not None:
            await asyncio.wait({self._step})
        if self._taking is not None and not self._taking.done():
            self._taking.cancel()
            await asyncio.wait({self._taking})
        self._taking = None

    async def on_stop(self) -> None:
        """End with the worker."""
        await self.cancel()

    async def _take_over(self, app: App, sources: set[TP], generation_id: int) -> None:
        stop = self._stop
        self._step = asyncio.get_running_loop().run_in_executor(app.executor, app.take_over, sources, stop)
        try:
            taken = await asyncio.shield(self._step)
        except Stopped:
            return
        finally:
            self._step = None
        if stop.is_set() or generation_id != app.consumer_generation_id:
            await app.let_go(taken)
            return
        app.open_lanes(taken)
        await app.begin(sources)
        self.completed.set()
        structlog.get_logger("roomkeeper.streams").info(
            "streams.ready", partitions=len(sources), generation=generation_id
        )

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            cast("App", self.app).lanes.fail(error)


class TableManager(FaustTableManager):
    """Uses the engine's recovery, and does not wait a second before it starts."""

    @property
    def recovery(self) -> Recovery:
        """The recovery of this worker."""
        if self._recovery is None:
            self._recovery = Recovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return cast("Recovery", self._recovery)

    async def on_start(self) -> None:
        """Declare the changelogs and start the recovery."""
        await self._update_channels()
        await self.recovery.start()
