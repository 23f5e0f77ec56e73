"""A server that cannot start says why; a port that is lost to another is exchanged."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from roomkeeper.embedded.ports import free_ports
from roomkeeper.embedded.postgres import EmbeddedPostgres
from roomkeeper.embedded.service import Service
from schemas.errors import Misconfigured, Unavailable
from tests.waiting import wait_for


class Script(Service):
    """A server that is a few lines of Python."""

    name = "script"
    port_count = 1
    start_seconds = 3.0
    code = "import time; print('hello', flush=True); time.sleep(600)"

    def fetch(self) -> None:
        """Python is there."""

    def _prepare(self) -> None:
        """Nothing to prepare."""

    def _command(self) -> Sequence[str]:
        return [sys.executable, "-c", self.code, str(self.ports[0])]

    def _answers(self) -> bool:
        return False


@contextmanager
def occupied() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_server_that_never_answers_is_given_up_with_the_end_of_its_log(tmp_path: Path) -> None:
    """The wait has a bound; the message holds the server's last words; no process is left."""
    script = Script(tmp_path)
    with pytest.raises(Unavailable, match=r"script did not answer within 3 s; the end of .*script\.log:\nhello"):
        script.start()
    assert not script.running


def test_a_server_that_ends_at_once_is_not_waited_for(tmp_path: Path) -> None:
    """Its exit code and last words are the message."""
    script = Script(tmp_path)
    script.code = "raise SystemExit('the disk is on fire')"
    with pytest.raises(Unavailable, match=r"(?s)ended while starting, with exit code 1.*the disk is on fire"):
        script.start()


def test_a_folder_belongs_to_one_owner_at_a_time(tmp_path: Path) -> None:
    """Two servers on the same data would ruin them: the second is told where the first is, and what to set."""
    first, second = EmbeddedPostgres(tmp_path, durable=False), EmbeddedPostgres(tmp_path, durable=False)
    first.start()
    try:
        with pytest.raises(Misconfigured, match=f"another Roomkeeper uses {tmp_path}.*ROOMKEEPER_EMBEDDED__DATA_DIR"):
            second.start()
    finally:
        first.stop()


def test_a_port_lost_to_another_process_is_exchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between our look at a port and the server's start somebody else may take it: another port is tried."""
    with occupied() as taken:
        answers = iter([(taken,), free_ports(1)])
        monkeypatch.setattr("roomkeeper.embedded.service.free_ports", lambda _count: next(answers))
        database = EmbeddedPostgres(tmp_path, durable=False)
        database.start()
        try:
            assert database.ports != (taken,)
            assert database.running
        finally:
            database.stop()


def test_a_server_below_a_private_folder_starts(tmp_path: Path) -> None:
    """Also when we are root and the server must not be: its data may lie where only we may look."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    database = EmbeddedPostgres(private / "postgres", durable=True)
    database.start()
    pid = database.pid
    database.stop()
    assert pid is not None
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), what="the server to be gone")
