"""The owner's side of a leash: start a program, signal it, stop it, and be sure that it ends with us.

Works from any thread. The program ends with this process, even when this process is killed; see `leash.py`.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from schemas.errors import Misconfigured

_LEASH = Path(__file__).with_name("leash.py")


class LeashedProcess:
    """A program that runs no longer than its owner."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        output: IO[bytes] | int,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        grace_seconds: float = 10.0,
    ) -> None:
        """Start `command`, with both its outputs going to `output` (a file or `subprocess.PIPE`).

        Raises:
            Misconfigured: the program cannot be started.
        """
        self._lock = threading.Lock()
        self._grace_seconds = grace_seconds
        arguments = ["--stop-signal", str(int(stop_signal)), "--grace-seconds", str(grace_seconds), "--", *command]
        self._leash = subprocess.Popen(  # noqa: S603 - our own script and our own command
            [sys.executable, "-I", "-S", str(_LEASH), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
        word, _, text = self._answer().partition(" ")
        if word != "pid":
            self._leash.wait()
            raise Misconfigured(f"cannot start {command[0]}: {text or 'its launcher ended'}")
        self.pid = int(text)
        self._exit_code: int | None = None

    @property
    def output(self) -> IO[bytes]:
        """What the program prints, when it was started with `subprocess.PIPE`."""
        if self._leash.stderr is None:
            raise Misconfigured("the program was not started with a pipe for its output")
        return self._leash.stderr

    def exit_code(self) -> int | None:
        """The program's exit code (negative: the signal that ended it), None while it runs."""
        if self._leash.poll() is not None:
            with self._lock:
                if self._exit_code is None:
                    self._exit_code = self._read_exit_code()
        return self._exit_code

    def wait(self, within_seconds: float) -> int | None:
        """Wait for the program to end by itself; None when it did not in time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._leash.wait(within_seconds)
        return self.exit_code()

    def stop(self) -> None:
        """Ask the program to stop, also a paused one; kill it after the grace; return when nothing of it is left."""
        with self._lock:
            if self._leash.stdin is not None and not self._leash.stdin.closed:
                with contextlib.suppress(BrokenPipeError):
                    self._leash.stdin.close()
        try:
            self._leash.wait(self._grace_seconds + 15.0)
        except subprocess.TimeoutExpired:
            self._leash.kill()  # the kernel kills the program with its leash
            self._leash.wait()
        self.exit_code()

    def kill(self) -> None:
        """SIGKILL for the program and all that it started; returns when they are gone."""
        self.send(signal.SIGKILL)
        self._leash.wait(15.0)
        self.exit_code()

    def pause(self) -> None:
        """SIGSTOP: frozen, as seen by others."""
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT after `pause`."""
        self.send(signal.SIGCONT)

    def send(self, which: signal.Signals) -> None:
        """Send a signal; returns when it is sent, or at once when the program is gone."""
        with self._lock:
            if self._leash.stdin is None or self._leash.stdin.closed:
                return
            with contextlib.suppress(BrokenPipeError):
                self._leash.stdin.write(f"signal {int(which)}\n".encode())
                self._leash.stdin.flush()
                line = self._answer()
                if line.startswith("exit "):
                    self._exit_code = int(line.split()[1])

    def _read_exit_code(self) -> int:
        while line := self._answer():
            if line.startswith("exit "):
                return int(line.split()[1])
        return -int(signal.SIGKILL)  # the leash was killed, and the program with it

    def _answer(self) -> str:
        if self._leash.stdout is None or self._leash.stdout.closed:
            return ""
        return self._leash.stdout.readline().decode(errors="replace").rstrip("\n")
