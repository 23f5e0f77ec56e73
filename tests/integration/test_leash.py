"""A leashed process ends with its owner, however the owner ends, and so does all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from roomkeeper.embedded.process import LeashedProcess
from schemas.errors import Misconfigured
from tests.waiting import wait_for

FAMILY = """
import os, subprocess, sys, time
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(os.getpid(), grandchild.pid, flush=True)
time.sleep(600)
"""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
OWNER = """
import signal, subprocess, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
from roomkeeper.embedded.process import LeashedProcess
family = sys.argv[1]
def own():
    process = LeashedProcess([sys.executable, "-c", family], output=subprocess.PIPE)
    print(process.output.readline().decode(), end="", flush=True)
thread = threading.Thread(target=own)
thread.start()
thread.join()
print("launching thread ended", flush=True)
threading.Event().wait()
"""


def python(code: str) -> LeashedProcess:
    """A leashed interpreter running `code`."""
    return LeashedProcess([sys.executable, "-c", code], output=subprocess.PIPE, grace_seconds=1.0)


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def family_of(process: LeashedProcess) -> list[int]:
    """Process ids of a FAMILY, itself first."""
    return [int(word) for word in process.output.readline().split()]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_the_owner_ends(how: signal.Signals) -> None:
    """The program and what it started, also outside its process group, end after any end of their owner, SIGKILL included."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER, FAMILY], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pids = [int(word) for word in owner.stdout.readline().split()]
    assert owner.stdout.readline() == "launching thread ended\n"
    assert all(map(alive, pids))

    owner.send_signal(how)
    owner.communicate(timeout=60)

    wait_for(lambda: not any(map(alive, pids)), what=f"{pids} to be gone")


def test_nothing_is_left_when_the_leash_itself_is_killed() -> None:
    """The kernel ends the program with its leash."""
    process = python(FAMILY)
    child, grandchild = family_of(process)
    process._leash.kill()
    wait_for(lambda: not alive(child), what="the program to be gone")
    os.kill(grandchild, signal.SIGKILL)
    assert process.exit_code() == -signal.SIGKILL


def test_stop_asks_first_and_tells_the_exit_code() -> None:
    """A program that stops by itself when asked has its own exit code."""
    process = python(
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); print('ready', flush=True); signal.pause()"
    )
    process.output.readline()
    process.stop()
    assert process.exit_code() == 7


def test_stop_kills_what_does_not_listen() -> None:
    """A program that ignores the signal is killed after its grace."""
    process = python(STUBBORN)
    process.output.readline()
    process.stop()
    assert process.exit_code() == -signal.SIGKILL


def test_stop_ends_a_paused_program() -> None:
    """A frozen program is thawed to be stopped."""
    process = python(FAMILY)
    pids = family_of(process)
    process.pause()
    wait_for(lambda: state(pids[1]) == "T", what="the grandchild to be frozen")
    process.stop()
    assert not any(map(alive, pids))


def test_pause_and_resume_reach_the_whole_tree() -> None:
    """What the program started is frozen and thawed with it."""
    process = python(FAMILY)
    pids = family_of(process)
    process.pause()
    wait_for(lambda: [state(pid) for pid in pids] == ["T", "T"], what="both to be frozen")
    process.resume()
    wait_for(lambda: "T" not in [state(pid) for pid in pids], what="both to go on")
    process.kill()
    assert not any(map(alive, pids))


def test_many_threads_may_use_one_process() -> None:
    """The exit code is the same for everybody who asks while others signal and wait."""
    process = python("import sys, time; print('ready', flush=True); sys.exit(3)")
    codes: list[int | None] = []
    threads = [threading.Thread(target=lambda: codes.append(process.wait(10))) for _ in range(8)]
    for thread in threads:
        thread.start()
    process.resume()
    for thread in threads:
        thread.join()
    assert codes == [3] * 8


def test_a_program_that_does_not_exist_is_named() -> None:
    """What cannot be started is a wrong setting, and its name is told."""
    with pytest.raises(Misconfigured, match="cannot start /no/such/program"):
        LeashedProcess(["/no/such/program"], output=subprocess.DEVNULL)


def state(pid: int) -> str:
    """The kernel's letter for what the process does."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
