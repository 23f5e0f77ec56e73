"""A group of named processes: all of them run, one that dies is started again, and none outlives the group.

Every line that a process prints goes to one `sink`, with the process's name. A process that ends with the exit code of
a wrong setting is not started again: that would not help, and `failed` says which one it was.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from roomkeeper.cli import MISCONFIGURED
from roomkeeper.embedded.process import LeashedProcess
from schemas.errors import Broken, Misconfigured

Sink = Callable[[str, str], None]
"""Takes the name of a process and one line of its output."""

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 10.0
_STEADY_SECONDS = 30.0
"""A process that lived so long is not failing at its start: its next restart comes soon again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What one process runs."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(repr=False)
    grace_seconds: float = 20.0
    """How long it may take to stop before it is killed."""


class ProcessGroup:
    """Processes by name; the last one started is the first one stopped."""

    def __init__(self, sink: Sink) -> None:
        """Nothing runs yet."""
        self._sink = sink
        self._members: dict[str, _Member] = {}
        self.something_failed = threading.Event()
        self.log_error: OSError | None = None
        """Why lines have been lost: the disk is full, or nobody reads them any more. The processes go on."""

    @property
    def failed(self) -> tuple[str, ...]:
        """The processes that ended for good although nobody stopped them."""
        return tuple(name for name, member in self._members.items() if member.failed)

    @property
    def names(self) -> tuple[str, ...]:
        """The processes of the group, in the order of their start."""
        return tuple(self._members)

    def start(self, program: Program) -> None:
        """Run a program, and again whenever it dies, until it is stopped.

        Raises:
            Misconfigured: it cannot be run at all.
            Broken: another of that name runs.
        """
        if program.name in self._members:
            raise Broken(f"two processes are called {program.name}")
        self._members[program.name] = _Member(program, sink=self._tell, on_failure=self.something_failed.set)

    def pid(self, name: str) -> int | None:
        """The process's id, None while it is down."""
        return self._members[name].pid

    def starts(self, name: str) -> int:
        """How often the process was started."""
        return self._members[name].starts

    def kill(self, name: str) -> None:
        """SIGKILL; the group then starts it again."""
        self._members[name].process.kill()

    def pause(self, name: str) -> None:
        """SIGSTOP."""
        self._members[name].process.pause()

    def resume(self, name: str) -> None:
        """SIGCONT."""
        self._members[name].process.resume()

    def stop(self, name: str) -> None:
        """Stop one process for good and forget it."""
        self._members.pop(name).stop()

    def close(self, *, within_seconds: float = 45.0) -> None:
        """Stop every process, the last one started first; what is left when the time is over is killed."""
        deadline = time.monotonic() + within_seconds
        for name in reversed(self.names):
            self._members.pop(name).stop(by_force=time.monotonic() > deadline)

    def _tell(self, name: str, line: str) -> None:
        """Output that is not taken would bring its process to a stop: a sink that fails loses lines, and no more."""
        try:
            self._sink(name, line)
        except OSError as error:
            self.log_error = self.log_error or error

    def __enter__(self) -> Self:
        """The group itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop every process."""
        self.close()


class _Member:
    """One program, the process that runs it now, and the thread that reads its output and starts it again."""

    def __init__(self, program: Program, *, sink: Sink, on_failure: Callable[[], None]) -> None:
        self._program = program
        self._sink = sink
        self._on_failure = on_failure
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self.failed = False
        self.starts = 0
        self.process = self._launch()
        self._thread = threading.Thread(target=self._watch, name=f"watch {program.name}", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process.exit_code() is None else None

    def stop(self, *, by_force: bool = False) -> None:
        self._stopping.set()
        with self._lock:
            if by_force:
                self.process.kill()
            self.process.stop()
        self._thread.join()

    def _launch(self) -> LeashedProcess:
        self.starts += 1
        return LeashedProcess(
            self._program.command,
            output=subprocess.PIPE,
            env=self._program.env,
            grace_seconds=self._program.grace_seconds,
        )

    def _watch(self) -> None:
        pause_seconds = _FIRST_PAUSE_SECONDS
        while True:
            began = time.monotonic()
            self._read_output()
            code = self.process.wait(within_seconds=_LONGEST_PAUSE_SECONDS)
            if self._stopping.is_set():
                return
            if code == MISCONFIGURED:
                self._fail()
                return
            if time.monotonic() - began > _STEADY_SECONDS:
                pause_seconds = _FIRST_PAUSE_SECONDS
            self._sink(self._program.name, f"ended with exit code {code}; it is started again in {pause_seconds:g} s")
            if self._stopping.wait(pause_seconds):
                return
            pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)
            with self._lock:
                if self._stopping.is_set():
                    return
                try:
                    self.process = self._launch()
                except (Misconfigured, OSError) as error:
                    self._sink(self._program.name, f"cannot be started again: {error}")
                    self._fail()
                    return

    def _fail(self) -> None:
        self.failed = True
        self._on_failure()

    def _read_output(self) -> None:
        with self.process.output as output:
            for line in output:
                self._sink(self._program.name, line.decode(errors="replace").rstrip("\n"))
