"""Plants every fault in a copy of the project, and runs the tests of rooms against it: each must fail.

Exit 0 when all are caught; 1 when one survives, no longer fits its file, or the tests fail without any fault.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from tests.effort import THOROUGH
from tests.mutants.faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parent.parent.parent
SUITE = (
    "tests/unit/test_stays.py",
    "tests/unit/test_rooms_fold.py",
    "tests/unit/test_webhook_bodies.py",
    "tests/property/test_room_cases.py",
    "tests/property/test_rooms_laws.py",
    "tests/property/test_attendance_oracle.py",
)
KEPT = (
    "schemas",
    "zoom",
    "runtime",
    "streams",
    "projectors",
    "roomkeeper",
    "simulator",
    "tests",
    "pyproject.toml",
    "topics.yaml",
)
"""What the tests need of the project."""
MINUTES = 20


def main(console: Console) -> int:
    """Plant the faults whose names hold one of the arguments, or all."""
    wanted = [fault for fault in FAULTS if not sys.argv[1:] or any(word in fault.name for word in sys.argv[1:])]
    with _workplace() as place:
        failure = _failure(place)
        if failure is not None:
            console.print(f"{failure}\n\nthe tests fail without any fault", style="red", highlight=False, markup=False)
            return 1
    verdicts: list[str] = []
    with ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) // 2)) as pool:
        for fault, verdict in zip(wanted, pool.map(_verdict, wanted), strict=True):
            verdicts.append(verdict)
            style = "green" if verdict == "caught" else "red"
            console.print(f"{verdict:9} {fault.name}", style=style, highlight=False)
    caught = verdicts.count("caught")
    console.print(f"mutants: {caught} caught, {len(verdicts) - caught} not", highlight=False)
    return 0 if caught == len(verdicts) else 1


def _verdict(fault: Fault) -> str:
    with _workplace() as place:
        file = place / fault.file
        text = file.read_text(encoding="utf-8")
        if text.count(fault.right) != 1:
            return "misfit"
        file.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
        return "SURVIVES" if _failure(place) is None else "caught"


def _failure(place: Path) -> str | None:
    """What the tests say when they fail; None when they pass."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "--no-header",
        "--timeout=900",
        f"--hypothesis-profile={THOROUGH}",
        *SUITE,
    ]
    quiet = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": str(place / "examples")}
    done = subprocess.run(
        command, cwd=place, env=quiet, capture_output=True, text=True, check=False, timeout=60 * MINUTES
    )
    return None if done.returncode == 0 else done.stdout


@contextmanager
def _workplace() -> Iterator[Path]:
    """A copy of the project to break."""
    with tempfile.TemporaryDirectory(prefix="roomkeeper-mutant-") as folder:
        place = Path(folder) / "project"
        place.mkdir()
        for name in KEPT:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, place / name)
        yield place


if __name__ == "__main__":
    sys.exit(main(Console()))
