"""Waiting for the wish to end: Ctrl-C, or the SIGTERM of a supervisor."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set while the context lasts; only for a process's main thread.

    The second signal acts as it always did, so that an impatient person can end the process at once.
    """
    wanted = threading.Event()
    earlier = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)}

    def note(_number: int, _frame: object) -> None:
        wanted.set()
        for which, handler in earlier.items():
            signal.signal(which, handler)

    for which in earlier:
        signal.signal(which, note)
    try:
        yield wanted
    finally:
        for which, handler in earlier.items():
            signal.signal(which, handler)
