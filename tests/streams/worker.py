"""What a worker process of the bench runs: the real worker, with counting folds.

A fault breaks it from inside, in a way that cannot be caused from outside.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, cast

from faust.types import TP

from roomkeeper.cli import exit_code
from runtime import logs
from runtime.clock import SystemClock
from runtime.settings import load
from schemas.errors import RoomkeeperError, Unavailable
from streams import runner
from streams.engine.app import App
from streams.engine.batch import Batch
from streams.engine.lanes import Lanes
from streams.engine.producer import TransactionalProducer
from streams.engine.transport import Consumer
from tests.streams.counting import CountingFold

Fault = Literal["deaf", "hung-commit", "hung-stop", "crashed-consumer"]
"""No batch reaches a lane · a commit never returns · a stop never ends · the consumer's thread crashes once it runs."""


def run(names: Sequence[str], fault: Fault | None) -> int:
    """Run until told to stop; the exit code. Settings come from the environment."""
    settings = load()
    clock = SystemClock(settings.clock.shift_seconds)
    logs.configure(settings.log, role="streams", clock=clock)
    if fault is not None:
        broken, method, replacement = _FAULTS[fault]
        setattr(broken, method, replacement)
    folds = [CountingFold(name) for name in names]
    try:
        return asyncio.run(runner.run(settings, folds, clock=clock))
    except RoomkeeperError as error:
        sys.stderr.write(f"{error}\n")
        return exit_code(error)


def _put_nowhere(_lanes: Lanes, _batch: Batch) -> None:
    """The batch is lost, as when Faust's streams stop silently."""


def _never(_producer: TransactionalProducer, *_: object) -> None:
    threading.Event().wait()


async def _for_ever(_app: App) -> None:
    await asyncio.Event().wait()


_begin = App.begin


async def _begin_and_crash(app: App, sources: set[TP]) -> None:
    await _begin(app, sources)
    cast("Consumer", app.consumer)._thread._crash(Unavailable("the thread of the consumer has crashed"))


_FAULTS: Mapping[Fault, tuple[type, str, Callable[..., object]]] = {
    "deaf": (Lanes, "put", _put_nowhere),
    "hung-commit": (TransactionalProducer, "commit", _never),
    "hung-stop": (App, "stop", _for_ever),
    "crashed-consumer": (App, "begin", _begin_and_crash),
}
