"""A group of processes: what dies is started again, what is stopped stays so, and their lines come out with names."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator

import pytest

from roomkeeper.local.process_group import ProcessGroup, Program
from schemas.errors import Broken
from tests.waiting import wait_for

STEADY = "import signal; print('ready', flush=True); signal.pause()"


def program(name: str, code: str) -> Program:
    """A few lines of Python."""
    return Program(name=name, command=[sys.executable, "-c", code], env=dict(os.environ), grace_seconds=2.0)


@pytest.fixture
def lines() -> list[tuple[str, str]]:
    """What the processes said."""
    return []


@pytest.fixture
def group(lines: list[tuple[str, str]]) -> Iterator[ProcessGroup]:
    """A group that is closed afterwards."""
    with ProcessGroup(lambda name, line: lines.append((name, line))) as group:
        yield group


def test_a_process_that_is_killed_is_started_again(group: ProcessGroup, lines: list[tuple[str, str]]) -> None:
    """A new process takes its place, and the log says so."""
    group.start(program("one", STEADY))
    wait_for(lambda: ("one", "ready") in lines, what="the first start")
    first = group.pid("one")
    group.kill("one")
    wait_for(lambda: lines.count(("one", "ready")) == 2, what="the second start")
    assert ("one", "ended with exit code -9; it is started again in 0.5 s") in lines
    assert group.pid("one") not in {None, first}
    assert group.starts("one") == 2


def test_a_process_that_goes_on_failing_is_started_less_and_less_often(
    group: ProcessGroup, lines: list[tuple[str, str]]
) -> None:
    """The pause before a restart doubles."""
    group.start(program("one", "raise SystemExit(1)"))
    wait_for(lambda: any("again in 2 s" in line for _, line in lines), what="the third failure")
    pauses = [line.rpartition("again in ")[2] for _, line in lines]
    assert pauses[:3] == ["0.5 s", "1 s", "2 s"]


def test_a_log_that_cannot_be_written_holds_up_no_process() -> None:
    """What a process says is read on, beyond what a pipe holds, and the group says what became of the log."""

    def full(_name: str, _line: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with ProcessGroup(full) as group:
        group.start(program("one", "for _ in range(20_000): print('a line of some length')\nraise SystemExit(2)"))
        wait_for(lambda: group.failed == ("one",), what="the end of a process that says much")
        assert group.log_error is not None
        assert group.log_error.errno == errno.ENOSPC


def test_a_wrong_setting_is_not_tried_again(group: ProcessGroup) -> None:
    """A process that ends with the exit code of a wrong setting stays down, and the group says which it was."""
    group.start(program("one", STEADY))
    group.start(program("two", "raise SystemExit(2)"))
    assert group.something_failed.wait(10)
    assert (group.failed, group.starts("two")) == (("two",), 1)


def test_a_stopped_process_stays_stopped_and_may_be_started_anew(
    group: ProcessGroup, lines: list[tuple[str, str]]
) -> None:
    """Stopping is for good: the name is free again."""
    group.start(program("one", STEADY))
    group.stop("one")
    assert group.names == ()
    group.start(program("one", STEADY))
    wait_for(lambda: ("one", "ready") in lines, what="the new start")
    assert group.starts("one") == 1


def test_two_processes_cannot_share_a_name(group: ProcessGroup) -> None:
    """A name says which process is meant."""
    group.start(program("one", STEADY))
    with pytest.raises(Broken, match="two processes are called one"):
        group.start(program("one", STEADY))


def test_closing_stops_the_last_one_first(group: ProcessGroup, lines: list[tuple[str, str]]) -> None:
    """Each process is asked to stop, in the reverse order of the starts, and none is left."""
    polite = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('bye', flush=True))); print('ready', flush=True); signal.pause()"
    for name in ("one", "two", "three"):
        group.start(program(name, polite))
    wait_for(lambda: len(lines) == 3, what="all three to run")
    group.close()
    assert [name for name, line in lines if line == "bye"] == ["three", "two", "one"]
