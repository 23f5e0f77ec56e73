"""`roomkeeper up`, as a person runs it: it says where things are, they work, and nothing is left when it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from runtime.environment import environment_for_children
from runtime.settings import EmbeddedSettings, KafkaSettings, PostgresSettings, Settings
from tests.waiting import wait_for

UP_SECONDS = 150


class Running:
    """One `roomkeeper up` and what it prints."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        """Started at once."""
        self.data_dir = folder / "data"
        embedded = EmbeddedSettings(data_dir=self.data_dir, docker=settings.embedded.docker)
        self.log = folder / "up.log"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "roomkeeper", "up"],
                env=environment_for_children(settings.model_copy(update={"embedded": embedded})),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def printed(self) -> str:
        """Everything so far."""
        return self.log.read_text(errors="replace")

    def wait_until_up(self) -> None:
        """Returns when it says so."""
        wait_for(
            lambda: "Roomkeeper is up." in self.printed() or self.process.poll() is not None,
            what=f"`roomkeeper up` to be up; it printed:\n{self.printed()[-2000:]}",
            within_seconds=UP_SECONDS,
        )
        assert self.process.poll() is None, self.printed()[-4000:]

    def address(self, name: str) -> str:
        """What it printed behind a name."""
        return next(line.split(maxsplit=1)[1] for line in self.printed().splitlines() if line.startswith(f"  {name} "))

    def pids(self) -> set[int]:
        """The processes that work for it, itself included: those that were handed its data folder."""
        mark = f"ROOMKEEPER_EMBEDDED__DATA_DIR={self.data_dir}".encode()
        return {int(entry.parent.name) for entry in Path("/proc").glob("[0-9]*/environ") if mark in _read(entry)}


def _read(entry: Path) -> bytes:
    try:
        return entry.read_bytes()
    except OSError:
        return b""


@contextmanager
def running(settings: Settings, folder: Path) -> Iterator[Running]:
    """`roomkeeper up`, ended in any case."""
    up = Running(settings, folder)
    try:
        yield up
    finally:
        up.process.kill()
        up.process.wait()


@pytest.mark.timeout(300)
def test_up_says_where_things_are_they_work_and_ctrl_c_leaves_no_process(settings: Settings, tmp_path: Path) -> None:
    """The curl line that it prints makes a meeting with a room; Ctrl-C stops all of it."""
    with running(settings, tmp_path) as up:
        up.wait_until_up()
        assert httpx.get(up.address("simulator")).is_success
        command = up.printed().partition("Try:\n\n")[2].partition("\n\n")[0]
        answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60).stdout

        pids = up.pids()
        up.process.send_signal(signal.SIGINT)
        code = up.process.wait(90)

        assert '"zoom_id"' in answer
        assert len(pids) > 5
        assert (code, up.pids()) == (0, set())


@pytest.mark.timeout(300)
def test_nothing_is_left_when_up_itself_is_killed(settings: Settings, tmp_path: Path) -> None:
    """Broker, database, simulator and roles end with it, even though it cannot stop them."""
    alone = settings.model_copy(update={"kafka": KafkaSettings(), "postgres": PostgresSettings()})
    with running(alone, tmp_path) as up:
        up.wait_until_up()
        pids = up.pids()
        up.process.kill()
        up.process.wait()
        assert len(pids) > 7
        wait_for(lambda: not up.pids(), what="all its processes to be gone")


def test_a_setting_that_is_wrong_ends_up_with_its_name(settings: Settings, tmp_path: Path) -> None:
    """Exit code 2 and one line, before anything is started."""
    environment = environment_for_children(settings) | {"ROOMKEEPER_INGRESS__PORT": "many"}
    ended = subprocess.run(
        [sys.executable, "-m", "roomkeeper", "up"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("roomkeeper: ROOMKEEPER_INGRESS__PORT: ")
    assert len(ended.stderr.splitlines()) == 1
