"""What the embedded broker and database have in common: one server process, its ports, its folder and its log.

Guarantees: `start` returns when the server answers, or raises with the end of its log; the first start takes free
ports and later ones keep them; `stop` and `kill` return when no process is left.
"""

from __future__ import annotations

import fcntl
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TextIO

from roomkeeper.embedded.ports import free_ports
from roomkeeper.embedded.process import LeashedProcess
from schemas.errors import Misconfigured, Unavailable

_PORT_RACES = 5
_PROBE_SECONDS = 0.1
_LOG_TAIL_BYTES = 3_000


class PortTaken(Unavailable):
    """Somebody bound the port between our look and the server's start."""


class Service(ABC):
    """A server that can be started, stopped, killed, frozen, and started again on the same ports and data."""

    name: ClassVar[str]
    port_count: ClassVar[int]
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    grace_seconds: ClassVar[float] = 15.0
    start_seconds: ClassVar[float] = 90.0

    def __init__(self, folder: Path) -> None:
        """Data, configuration and log live in `folder`."""
        self.folder = folder.absolute()
        self.ports: tuple[int, ...] = ()
        self._process: LeashedProcess | None = None
        self._claim: TextIO | None = None

    @property
    def log(self) -> Path:
        """The server's own output, all starts of it."""
        return self.folder / f"{self.name}.log"

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._process.pid if self.running and self._process is not None else None

    @property
    def running(self) -> bool:
        """Whether the process exists, frozen or not."""
        return self._process is not None and self._process.exit_code() is None

    @abstractmethod
    def fetch(self) -> None:
        """See that the programs are there, downloading what may be downloaded.

        Raises:
            Misconfigured: something is missing; the message names it and the cure.
            Unavailable: a download failed.
        """

    def start(self) -> None:
        """Start the server, on the ports of its last start if there was one; return when it answers.

        Raises:
            Misconfigured: something that it needs is missing.
            Unavailable: it ended, or did not answer in time.
        """
        if self.running:
            return
        self._claim_folder()
        if self.ports:
            self._launch()
            return
        for attempt in range(1, _PORT_RACES + 1):
            self.ports = free_ports(self.port_count)
            try:
                self._launch()
            except PortTaken:
                self.ports = ()
                if attempt == _PORT_RACES:
                    raise
            else:
                return

    def stop(self) -> None:
        """Stop the server as its makers intend, then by force; nothing of it is left."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        """End the server at once, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def pause(self) -> None:
        """Freeze the server: connections stay, answers stop."""
        if self._process is not None:
            self._process.pause()

    def resume(self) -> None:
        """Let a frozen server go on."""
        if self._process is not None:
            self._process.resume()

    def _claim_folder(self) -> None:
        """Two servers on the same data would ruin them: the first owner of a folder keeps it until it ends."""
        if self._claim is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        claim = (self.folder / "owner.lock").open("w")
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            claim.close()
            raise Misconfigured(
                f"another Roomkeeper uses {self.folder}: stop it, or set ROOMKEEPER_EMBEDDED__DATA_DIR to another one"
            ) from error
        self._claim = claim

    def _launch(self) -> None:
        self._prepare()
        log_start = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as output:
            process = LeashedProcess(
                self._command(),
                output=output,
                stop_signal=self.stop_signal,
                grace_seconds=self.grace_seconds,
                cwd=self.folder,
            )
        try:
            self._wait_until_ready(process, log_start=log_start)
        except BaseException:
            process.stop()
            raise
        self._process = process

    def _wait_until_ready(self, process: LeashedProcess, *, log_start: int) -> None:
        deadline = time.monotonic() + self.start_seconds
        while not self._answers():
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"{self.name} did not answer within {self.start_seconds:.0f} s{self._tail(log_start)}"
                )
            if process.wait(_PROBE_SECONDS) is not None:
                tail = self._tail(log_start)
                error = PortTaken if "Address already in use" in tail else Unavailable
                raise error(f"{self.name} ended while starting, with exit code {process.exit_code()}{tail}")

    def _tail(self, log_start: int) -> str:
        with self.log.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(log_start, size - _LOG_TAIL_BYTES))
            return f"; the end of {self.log}:\n{log.read().decode(errors='replace')}"

    @abstractmethod
    def _prepare(self) -> None:
        """Make the folder ready for this start."""

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """The program, for `ports`."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether the server answers a client now."""
