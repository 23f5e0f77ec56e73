"""Worker processes whose start costs a fork: they come from one process that has imported everything, which takes a second.

They are processes like any others, with signals, file descriptors and environment of their own, and end with whoever started them.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.streams import worker
from tests.streams.worker import Fault

PR_SET_PDEATHSIG = 1


class ForkedWorker:
    """A worker that runs, with the verbs of a leashed process."""

    def __init__(
        self, names: Sequence[str], fault: Fault | None, *, env: Mapping[str, str], log: Path, grace_seconds: float
    ) -> None:
        """Started at once; both its outputs go to `log`."""
        self._grace_seconds = grace_seconds
        log.touch()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["__main__", worker.__name__])
        self._process = context.Process(target=_run, args=(tuple(names), fault, dict(env), log))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def exit_code(self) -> int | None:
        """Its exit code (negative: the signal that ended it), None while it runs."""
        return self._process.exitcode

    def wait(self, within_seconds: float) -> int | None:
        """Wait for it to end by itself; None when it did not in time."""
        self._process.join(within_seconds)
        return self.exit_code()

    def stop(self) -> None:
        """Ask it to stop, also when it is paused; kill it after the grace."""
        self.send(signal.SIGTERM)
        self.resume()
        if self.wait(self._grace_seconds) is None:
            self.kill()

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self.send(signal.SIGKILL)
        self._process.join()

    def pause(self) -> None:
        """SIGSTOP: frozen, as seen by others."""
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT after `pause`."""
        self.send(signal.SIGCONT)

    def send(self, which: signal.Signals) -> None:
        """Send a signal, unless it is gone."""
        if self.exit_code() is None:
            os.kill(self.pid, which)


def _run(names: Sequence[str], fault: Fault | None, env: Mapping[str, str], log: Path) -> None:
    """In the new process."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with log.open("wb") as output:
        for descriptor in (1, 2):
            os.dup2(output.fileno(), descriptor)
    os.environ.clear()
    os.environ.update(env)
    sys.exit(worker.run(names, fault))
