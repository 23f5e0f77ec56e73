"""Runs a worker until it is told to stop or must end, and says which: the exit code is the answer.

0: stopped by a signal, everything folded is committed · 1: broken · 2: misconfigured. A stop that hangs is made short.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import structlog

from runtime.clock import Clock
from runtime.garbage import collect_seldom
from runtime.settings import Settings
from schemas.errors import Broken, Misconfigured, Unavailable
from streams.app import create_app, topics_of
from streams.engine.app import App
from streams.engine.observer import Observer
from streams.fold import Fold
from streams.partitions import partition_counts
from streams.quiet import quieten
from streams.watchdog import Watchdog

STOPPED, BROKEN, MISCONFIGURED = 0, 1, 2
START_PAUSE_SECONDS = 2.0

T = TypeVar("T")


async def run(
    settings: Settings,
    folds: Sequence[Fold[Any]],
    *,
    clock: Clock,
    observer: Observer | None = None,
    check: Callable[[], None] | None = None,
) -> int:
    """Work until SIGTERM or SIGINT, or until the process must end; the exit code.

    `check` comes first, in a thread, and again for as long as it finds something unavailable.

    Raises:
        Misconfigured: before anything was started.
    """
    quieten(clock)
    collect_seldom()
    signalled = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, signalled.set)
    partitions = await _patiently(lambda: _partitions(settings, folds, check), signalled)
    if partitions is None:
        return STOPPED
    app = create_app(settings, folds, partitions=partitions, clock=clock, observer=observer)
    return await _serve(app, signalled)


def _partitions(settings: Settings, folds: Sequence[Fold[Any]], check: Callable[[], None] | None) -> dict[str, int]:
    if check is not None:
        check()
    return partition_counts(settings.kafka, topics_of(settings, folds))


async def _patiently(step: Callable[[], T], signalled: asyncio.Event) -> T | None:
    """The step's result, however long the broker is away; None when told to stop meanwhile."""
    while not signalled.is_set():
        try:
            return await asyncio.to_thread(step)
        except Unavailable as error:
            structlog.get_logger("roomkeeper.streams").warning("streams.start_waits", cause=str(error))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(signalled.wait(), START_PAUSE_SECONDS)
    return None


async def _serve(app: App, signalled: asyncio.Event) -> int:
    settings = app.settings
    app.in_worker = True
    watchdog = Watchdog(
        app,
        clock=app.clock,
        stall_seconds=settings.stall_seconds,
        commit_timeout_seconds=settings.commit_timeout_seconds,
    )
    watchdog.start()
    starting = asyncio.create_task(app.start(), name="start")
    reason = await _first_reason(app, starting, signalled)
    watchdog.stop()
    end_within(settings.stop_seconds, code=_code(reason))
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
