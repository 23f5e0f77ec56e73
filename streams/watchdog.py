"""The watchdog: a thread that ends a worker which makes no progress although there is something to do.

Progress is a committed transaction, restored records, or a finished step of a take-over. Time in which the broker does
not answer does not count: then there is nothing that this process could do better. What it cannot trust, it does not
use: it runs beside the event loop and asks the broker over connections of its own.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog
from faust.types import TP

from runtime.clock import Clock
from schemas.errors import RoomkeeperError
from streams.engine.app import App, Phase
from streams.engine.bookkeeper import Bookkeeper

LOOKS = 12
"""So often it looks within the time that is allowed without progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What one look found."""

    at_seconds: float
    progress: float
    """A number that changes with every step forward."""
    to_do: str
    """What should go on; empty when there is nothing to do."""
    reachable: bool
    """Whether the broker answered."""


class Patience:
    """Decides, from one look after another, when there was no progress for too long. Pure."""

    def __init__(self, *, stall_seconds: float) -> None:
        """Nothing was seen yet."""
        self._stall_seconds = stall_seconds
        self._last: Sight | None = None
        self._idle_seconds = 0.0

    def runs_out(self, sight: Sight) -> bool:
        """Whether the time that counts, without progress and with something to do, is over."""
        last, self._last = self._last, sight
        if last is None or sight.progress != last.progress or not (sight.to_do and last.to_do):
            self._idle_seconds = 0.0
        elif sight.reachable and last.reachable:
            self._idle_seconds += sight.at_seconds - last.at_seconds
        return self._idle_seconds >= self._stall_seconds


class Watchdog:
    """Watches one worker. Start it when the event loop runs."""

    def __init__(self, app: App, *, clock: Clock, stall_seconds: float, commit_timeout_seconds: float) -> None:
        """`stall_seconds` is how long the worker may stand still, and the other how long a commit may take."""
        self._app = app
        self._clock = clock
        self._stall_seconds = stall_seconds
        self._commit_timeout_seconds = commit_timeout_seconds
        self._bookkeeper = Bookkeeper(app.kafka, group=app.settings.app_id)
        self._stopping = threading.Event()
        self._beat_at = clock.monotonic_seconds()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer. Returns at once."""
        self._stopping.set()

    def _watch(self) -> None:
        patience = Patience(stall_seconds=self._stall_seconds)
        commits = Patience(stall_seconds=self._commit_timeout_seconds)
        while not self._stopping.wait(min(self._stall_seconds, self._commit_timeout_seconds) / LOOKS):
            self._loop.call_soon_threadsafe(self._beat)
            frozen_seconds = self._clock.monotonic_seconds() - self._beat_at
            if frozen_seconds >= self._stall_seconds:
                end(f"the event loop has not turned for {frozen_seconds:.0f} s")
            if crashed := self._app.crashed_services():
                end(f"{crashed} crashed")
            sight = self._look()
            if patience.runs_out(sight):
                end(
                    f"no progress for {self._stall_seconds:g} s with work to do: {sight.to_do}; "
                    f"the event loop turned {frozen_seconds:.0f} s ago"
                )
            if commits.runs_out(self._look_at_commits(sight)):
                end(f"a commit has not ended within {self._commit_timeout_seconds:g} s")
        self._bookkeeper.close()

    def _beat(self) -> None:
        self._beat_at = self._clock.monotonic_seconds()

    def _look(self) -> Sight:
        progress, phase = self._app.progress.ticks, self._app.phase
        reachable, to_do = True, ""
        try:
            lag = self._lag()
        except RoomkeeperError:
            reachable, lag = False, 0
        if phase is not Phase.RUNNING:
            to_do = phase.value
        elif lag:
            to_do = f"{lag} records are not committed"
        return Sight(at_seconds=self._clock.monotonic_seconds(), progress=progress, to_do=to_do, reachable=reachable)

    def _look_at_commits(self, sight: Sight) -> Sight:
        since = self._app.lanes.oldest_commit()
        return replace(sight, progress=since or 0.0, to_do="" if since is None else "a commit")

    def _lag(self) -> int:
        positions = self._app.lanes.positions()
        lags = {tp: max(0, self._end(tp) - position) for tp, position in positions.items()}
        for tp, records in lags.items():
            self._app.observer.lag(tp.topic, partition=tp.partition, records=records)
        if not positions:
            self._end(TP(self._app.folds[0].source, 0))
        return sum(lags.values())

    def _end(self, tp: TP) -> int:
        return self._bookkeeper.ends(tp)[1]


def end(reason: str, *, leave: Callable[[int], None] = os._exit) -> None:
    """End this process with its reason and the stacks of all threads, whatever state it is in."""
    structlog.get_logger("roomkeeper.streams").error("watchdog.ends", reason=reason)
    # Libraries replace sys.stderr by objects without a file, with which faulthandler raises.
    if sys.__stderr__ is not None:
        faulthandler.dump_traceback(file=sys.__stderr__)
        sys.__stderr__.flush()
    leave(1)
