"""One measured process: what it marks on its standard output, when, and what it takes of the machine.

The times are this side's, so all peers are measured by one clock.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from roomkeeper.embedded.process import LeashedProcess
from schemas.errors import Broken

T = TypeVar("T")

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
POLL_SECONDS = 0.02
_LOG_LINES = 40
_MOST_MARKS = 10_000
_THREADS = {"rdk:": "librdkafka", "rocksdb": "RocksDB"}
"""Kinds of threads by the beginning of their names; all others are Python's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a process has taken so far."""

    cpu_seconds: float
    peak_bytes: int
    """High-water mark of its resident memory."""
    resident_bytes: int
    threads: int


class MeasuredProcess:
    """A process that runs no longer than the `with` block."""

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, grace_seconds: float = 60.0
    ) -> None:
        """Start it; both its outputs are read here."""
        self.started_at_seconds = time.monotonic()
        self._title = " ".join(command[:3])
        self._process = LeashedProcess(command, output=subprocess.PIPE, env=env, cwd=cwd, grace_seconds=grace_seconds)
        self._marks: dict[str, float] = {}
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        """The process itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    def stop(self) -> None:
        """SIGTERM, and SIGKILL after the grace."""
        self._process.stop()
        self._reader.join(5.0)

    def wait_for_mark(self, mark: str, *, within_seconds: float) -> float:
        """The monotonic second at which the process first printed the line `mark`.

        Raises:
            Broken: it ended, or did not print it in time; the message has the end of its output.
        """
        return self.wait_until(lambda: self._marks.get(mark), what=f"the mark {mark!r}", within_seconds=within_seconds)

    def wait_until(
        self, found: Callable[[], T | None], *, what: str, within_seconds: float, every_seconds: float = POLL_SECONDS
    ) -> T:
        """What `found` finds, asked again and again while the process lives.

        Raises:
            Broken: the process ended, or nothing was found in time; the message has the end of its output.
        """
        deadline = time.monotonic() + within_seconds
        while (result := self._ask(found)) is None:
            if (code := self._process.exit_code()) is not None:
                raise Broken(f"{self._title} ended with exit code {code} before {what}{self.tail}")
            if time.monotonic() > deadline:
                raise Broken(f"{self._title}: no sign of {what} within {within_seconds:.0f} s{self.tail}")
            self._process.wait(every_seconds)
        return result

    def _ask(self, found: Callable[[], T | None]) -> T | None:
        try:
            return found()
        except Broken as error:
            raise Broken(f"{self._title}: {error}{self.tail}") from error

    def marks(self) -> Mapping[str, float]:
        """All lines so far with the monotonic second at which each was first seen."""
        return dict(self._marks)

    def usage(self) -> Usage:
        """What the process has taken until now, from the kernel's accounts."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        return Usage(
            cpu_seconds=cpu_seconds(Path(f"/proc/{self.pid}/stat")),
            peak_bytes=int(fields["VmHWM"].split()[0]) * 1024,
            resident_bytes=int(fields["VmRSS"].split()[0]) * 1024,
            threads=int(fields["Threads"]),
        )

    def cpu_seconds_by_threads(self) -> Mapping[str, float]:
        """The same of each kind of thread: Python's own, librdkafka's, RocksDB's."""
        found: dict[str, float] = {}
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            name = (task / "comm").read_text(encoding="utf-8").strip()
            kind = next((kind for start, kind in _THREADS.items() if name.startswith(start)), "Python")
            found[kind] = found.get(kind, 0.0) + cpu_seconds(task / "stat")
        return found

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def tail(self) -> str:
        """The end of what it printed, for error messages."""
        return "".join(f"\n  | {line}" for line in list(self._log))

    def _read(self) -> None:
        for raw in self._process.output:
            line = raw.decode(errors="replace").rstrip("\n")
            if len(self._marks) < _MOST_MARKS:
                self._marks.setdefault(line, time.monotonic())
            self._log.append(line)


def cpu_seconds(stat: Path) -> float:
    """What a process or thread has taken, by its `stat` in /proc."""
    fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND
