"""Runs a worker until it is told to stop or must end, and says which: the exit code is the answer.

0: stopped by a signal, everything folded is committed · 1: broken · 2: misconfigured. A stop that hangs is made short.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

import structlog

from runtime.clock import Clock
from runtime.settings import Settings
from schemas.errors import Broken, Misconfigured
from streams.app import create_app
from streams.engine.app import App
from streams.engine.observer import Observer
from streams.fold import Fold
from streams.watchdog import Watchdog

STOPPED, BROKEN, MISCONFIGURED = 0, 1, 2


async def run(settings: Settings, folds: Sequence[Fold[Any]], *, clock: Clock, observer: Observer | None = None) -> int:
    """Work until SIGTERM or SIGINT, or until the process must end; the exit code.

    Raises:
        Misconfigured: before anything was started.
        Unavailable: the broker does not answer; nothing was started.
    """
    app = create_app(settings, folds, clock=clock, observer=observer)
    app.in_worker = True
    signalled = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, signalled.set)
    watchdog = Watchdog(app, clock=clock, stall_seconds=settings.streams.stall_seconds)
    watchdog.start()
    starting = asyncio.create_task(app.start(), name="start")
    reason = await _first_reason(app, starting, signalled)
    watchdog.stop()
    end_within(settings.streams.stop_seconds, code=_code(reason))
    await app.stop()
    await asyncio.gather(starting, return_exceptions=True)
    app.executor.shutdown(wait=False)
    return _code(reason)


def end_within(seconds: float, *, code: int) -> None:
    """End the process after so long, whatever else happens: Faust's stop may hang in a join."""

    def end() -> None:
        print("streams: the stop took too long", file=sys.__stderr__, flush=True)
        os._exit(code or BROKEN)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


async def _first_reason(app: App, starting: asyncio.Task[None], signalled: asyncio.Event) -> BaseException | None:
    """Why the process must end; None when it was told to."""
    waiting = {
        asyncio.create_task(signalled.wait(), name="signal"),
        asyncio.create_task(app.lanes.failed.wait(), name="lane failed"),
        asyncio.create_task(app._crashed.wait(), name="app crashed"),
    }
    done, _ = await asyncio.wait({*waiting, starting}, return_when=asyncio.FIRST_COMPLETED)
    if done == {starting} and starting.exception() is None:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    error = starting.exception() if starting.done() and not starting.cancelled() else None
    reason = app.lanes.reason or error or app.crash_reason
    log = structlog.get_logger("roomkeeper.streams")
    if reason is not None:
        log.error("streams.ends", kind=type(reason).__name__, reason=str(reason))
    elif signalled.is_set():
        log.info("streams.stops")
    else:
        reason = Broken("Faust's app crashed without a reason")
    return reason


def _code(reason: BaseException | None) -> int:
    if reason is None:
        return STOPPED
    return MISCONFIGURED if isinstance(reason, Misconfigured) else BROKEN
