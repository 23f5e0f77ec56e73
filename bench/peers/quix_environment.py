"""The Python environment of Quix Streams: made once from `quix/requirements.txt`, kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from schemas.errors import Unavailable

_REQUIREMENTS = Path(__file__).with_name("quix") / "requirements.txt"
_INSTALL_SECONDS = 600


def quix_python(cache_dir: Path) -> Path:
    """The interpreter that has Quix Streams.

    Raises:
        Unavailable: its packages could not be installed.
    """
    digest = hashlib.sha256(_REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = cache_dir / f"bench-quix-{digest}"
    complete = folder / "complete"
    if not complete.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(folder)])
        _run(
            [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--require-hashes", "-r", str(_REQUIREMENTS)]
        )
        complete.touch()
    return folder / "bin" / "python"


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
    )
    if done.returncode != 0:
        raise Unavailable(f"the environment of Quix Streams could not be made: {done.stderr or done.stdout}")
