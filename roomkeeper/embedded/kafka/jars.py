"""Kafka's jars, resolved once by Maven from `pom.xml` and kept in the user's cache folder.

The folder's name carries the pom's digest, so another version is another folder. Processes that need the jars at the
same time wait for the one that fetches them; a fetch that was cut short leaves nothing that looks complete.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from schemas.errors import Misconfigured, Unavailable

_FETCH_SECONDS = 900
_POM = files(__package__).joinpath("pom.xml")


def kafka_jars(cache_dir: Path) -> Path:
    """The folder that holds the broker's class path.

    Raises:
        Misconfigured: Maven is missing.
        Unavailable: Maven could not fetch the jars.
    """
    digest = hashlib.sha256(_POM.read_bytes()).hexdigest()[:12]
    folder = cache_dir / f"kafka-jars-{digest}"
    if folder.is_dir():
        return folder
    cache_dir.mkdir(parents=True, exist_ok=True)
    with (cache_dir / f"kafka-jars-{digest}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Misconfigured(
            "Maven is missing, it fetches Kafka's jars: install it (Debian: apt-get install maven), use Docker, "
            "or set ROOMKEEPER_KAFKA__BOOTSTRAP_SERVERS to a broker of yours"
        )
    partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        with as_file(_POM) as pom:
            _run_maven(
                [maven, "-B", "-q", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
            )
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _run_maven(command: list[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - Maven with our own pom
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_FETCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"Maven did not fetch Kafka's jars within {_FETCH_SECONDS} s") from error
    if done.returncode != 0:
        errors = [line for line in done.stdout.splitlines() if "ERROR" in line] or done.stdout.splitlines()
        said = errors[0] if errors else "it said nothing"
        cure = "without a network, name a mirror in Maven's settings.xml"
        raise Unavailable(f"Maven could not fetch Kafka's jars ({cure}): {said}")
