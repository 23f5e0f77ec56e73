"""Python environments of peers whose requirements are not ours: made once from their lists and kept in the cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from schemas.errors import Unavailable

_HERE = Path(__file__).parent
_INSTALL_SECONDS = 600


def peer_python(name: str, cache_dir: Path) -> Path:
    """The interpreter that has what `bench/peers/NAME` needs.

    Raises:
        Unavailable: its packages could not be installed.
    """
    requirements = _HERE / name / "requirements.txt"
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = cache_dir / f"bench-{name}-{digest}"
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run(name, [sys.executable, "-m", "venv", str(folder)])
        _run(name, [str(python), "-m", "pip", "install", "-q", "--require-hashes", "-r", str(requirements)])
        complete.touch()
    return python


def _run(name: str, command: list[str]) -> None:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
    )
    if done.returncode != 0:
        raise Unavailable(f"the environment of bench/peers/{name} could not be made: {done.stderr or done.stdout}")
