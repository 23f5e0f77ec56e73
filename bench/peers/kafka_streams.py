"""Kafka Streams as a peer: compiled once by Maven from `kafka-streams/` and kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from roomkeeper.embedded.kafka.java import find_java
from schemas.errors import Misconfigured, Unavailable

Guarantee = Literal["at_least_once", "exactly_once_v2"]

HEAP_MB = 1024

_PROJECT = Path(__file__).with_name("kafka-streams")
_BUILD_SECONDS = 900


def kafka_streams_command(arguments: Sequence[str], *, guarantee: Guarantee, cache_dir: Path) -> Sequence[str]:
    """How to run it: `arguments` are bootstrap servers, application id, source, output and state folder.

    Raises:
        Misconfigured: Maven or a Java compiler is missing.
        Unavailable: it could not be built.
    """
    folder = _built(cache_dir)
    options = [f"-Xmx{HEAP_MB}m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    return [
        str(find_java()),
        *options,
        "-cp",
        f"{folder / 'classes'}:{folder / 'lib'}/*",
        "roomkeeper.bench.Main",
        *arguments,
        guarantee,
    ]


def _built(cache_dir: Path) -> Path:
    sources = sorted(path for path in (*_PROJECT.glob("src/**/*.java"), _PROJECT / "pom.xml"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    folder = (cache_dir / f"bench-kafka-streams-{digest}").absolute()
    if not (folder / "complete").exists():
        _build(folder)
        (folder / "complete").touch()
    return folder


def _build(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None or shutil.which("javac") is None:
        raise Misconfigured(
            "Kafka Streams needs Maven and a JDK: install them (Debian: apt-get install maven), or use --only"
        )
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_PROJECT, folder / "project", ignore=shutil.ignore_patterns("target"))
    goals = ["compile", "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'lib'}"]
    done = subprocess.run(
        [maven, "-B", "-q", "-f", str(folder / "project" / "pom.xml"), *goals],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_BUILD_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise Unavailable(f"Kafka Streams could not be built: {done.stdout}")
    (folder / "project" / "target" / "classes").rename(folder / "classes")
