"""Named points at which a process ends itself with SIGKILL, for crash tests; off unless a setting names one."""

from __future__ import annotations

import os
import signal
import threading
from typing import Literal, get_args

from schemas.errors import Misconfigured

FailPoint = Literal[
    "after-decode",
    "after-fold",
    "after-outputs",
    "before-commit",
    "after-commit",
    "after-rocksdb",
    "in-recovery",
    "in-restore",
    "in-rebalance",
]


class FailPoints:
    """Counts how often the wanted point is reached. Safe to use from several threads."""

    def __init__(self, wanted: str | None) -> None:
        """`name` ends the process at the first time, `name:n` at the n-th.

        Raises:
            Misconfigured: there is no such point.
        """
        name, _, times = (wanted or "").partition(":")
        if (name and name not in get_args(FailPoint)) or (times and not times.isdigit()):
            names = ", ".join(get_args(FailPoint))
            raise Misconfigured(f"ROOMKEEPER_STREAMS__FAIL_POINT: {wanted!r} is not one of {names}, or name:times")
        self.wanted = name
        """Empty when they are off."""
        self._left = int(times or 1)
        self._lock = threading.Lock()

    def reach(self, point: FailPoint) -> None:
        """Returns, unless this is the wanted point for the wanted time."""
        if point == self.wanted:
            with self._lock:
                self._left -= 1
                if self._left <= 0:
                    os.kill(os.getpid(), signal.SIGKILL)
