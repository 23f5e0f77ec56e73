"""Keeps one child process on a leash: the child, and all that it starts, ends when the owner of the leash does.

Run as a script, with the standard library alone, between an owner and the child (`process.py` is the owner's side):

- stdin is the owner's end. Its end of file means that the owner is gone, in whatever way, SIGKILL included.
  A line `signal N` sends a signal: STOP, CONT and KILL to the child's whole tree, others to the child.
- stdout answers: `pid N` or `error TEXT` once, then `sent` for every signal, then `exit CODE`.
- stderr is the child's output.

Should the leash itself be killed, the kernel kills the child.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
TO_THE_TREE = {signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL}
ON_LINUX = sys.platform == "linux"


def main() -> int:
    """Run the child until it ends or the owner does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stop-signal", type=int, default=signal.SIGTERM)
    parser.add_argument("--grace-seconds", type=float, default=10.0)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    wake = _wake_on(signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    try:
        child = _start(arguments.command)
    except OSError as error:
        _say(f"error {error}")
        return 127
    _say(f"pid {child.pid}")
    if _serve(child, wake):
        _stop(child, stop_signal=arguments.stop_signal, grace_seconds=arguments.grace_seconds)
    _end_tree(child)
    _say(f"exit {child.returncode}")
    return 0


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    parent = os.getpid()
    libc = ctypes.CDLL(None) if ON_LINUX else None
    if libc is not None:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)

    def die_with_the_leash() -> None:
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    # This process has one thread, so preexec_fn is safe, and the kernel's "parent" is all of it.
    return subprocess.Popen(  # noqa: S603 - the owner's own command
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        start_new_session=True,
        preexec_fn=die_with_the_leash,  # noqa: PLW1509 - see above
    )


def _wake_on(*signals: signal.Signals) -> int:
    """A descriptor that turns readable, with the signal's number, when one of `signals` comes."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    for each in signals:
        signal.signal(each, lambda *_: None)
    return reading


def _serve(child: subprocess.Popen[bytes], wake: int) -> bool:
    """Pass the owner's signals on; True when the child is to be stopped, False when it ended by itself."""
    pending = b""
    while child.poll() is None:
        readable, _, _ = select.select([0, wake], [], [])
        if wake in readable and any(number != signal.SIGCHLD for number in os.read(wake, 64)):
            return True
        if 0 in readable:
            chunk = os.read(0, 4096)
            if not chunk:
                return True
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                _send(child, signal.Signals(int(line.split()[1])))
                _say("sent")
    return False


def _send(child: subprocess.Popen[bytes], which: signal.Signals) -> None:
    targets = [child.pid, *_descendants(child.pid)] if which in TO_THE_TREE else [child.pid]
    for pid in targets:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, which)


def _stop(child: subprocess.Popen[bytes], *, stop_signal: int, grace_seconds: float) -> None:
    child.send_signal(stop_signal)
    _send(child, signal.SIGCONT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(grace_seconds)


def _end_tree(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left, grandchildren that left the child's group included, and wait until it is gone."""
    if child.returncode is None:
        _send(child, signal.SIGKILL)
        child.wait()
    if not ON_LINUX:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while (left := _descendants(os.getpid())) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def _descendants(root: int) -> list[int]:
    """All processes under `root`, nearest first; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat") if ON_LINUX else ():
        with contextlib.suppress(OSError):
            parent = int(entry.read_text(errors="replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.parent.name))
    found = list(children.get(root, ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def _say(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    sys.exit(main())
