"""Plants every fault in a copy of the project, and runs the tests that must notice it: one of them must fail.

    python -m tests.mutants [SET] [WORDS...]     # SET: fold or work; WORDS: parts of names or files

Exit 0 when all are caught; 1 when one survives, no longer fits its file, breaks the tests themselves, or the tests fail
without any fault.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from runtime.environment import environment_for_children
from runtime.settings import load
from tests.effort import THOROUGH
from tests.mutants.fault import Fault
from tests.mutants.sets import SETS
from tests.stack import running_stack

ROOT = Path(__file__).resolve().parent.parent.parent
FOLD_SUITE = (
    "tests/unit/test_stays.py",
    "tests/unit/test_rooms_fold.py",
    "tests/unit/test_rooms_facts.py",
    "tests/unit/test_rooms_people.py",
    "tests/unit/test_rooms_rules.py",
    "tests/unit/test_event_ids.py",
    "tests/unit/test_webhook_bodies.py",
    "tests/property/test_room_cases.py",
    "tests/property/test_poll_cases.py",
    "tests/property/test_room_details_cases.py",
    "tests/property/test_rooms_laws.py",
    "tests/property/test_attendance_oracle.py",
)
KEPT = (
    "schemas",
    "zoom",
    "runtime",
    "streams",
    "projectors",
    "reconciler",
    "roomkeeper",
    "simulator",
    "tests",
    "pyproject.toml",
    "topics.yaml",
)
"""What the tests need of the project."""
MINUTES = 20
FAILED = 1
"""What pytest ends with when a test failed; anything else is no verdict."""

Environment = Mapping[str, str]


def main(console: Console) -> int:
    """Plant the faults that the arguments choose, or all."""
    wanted = _chosen(sys.argv[1:])
    with _stack(wanted) as environment:
        with _workplace() as place:
            sound = _run(place, _tests(wanted), environment)
        if sound.returncode != 0:
            told = f"{sound.stdout}\n\nthe tests fail without any fault"
            console.print(told, style="red", highlight=False, markup=False)
            return 1
        verdicts: list[str] = []
        with ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) // 2)) as pool:
            judged = pool.map(lambda fault: _verdict(fault, environment), wanted)
            for fault, verdict in zip(wanted, judged, strict=True):
                verdicts.append(verdict)
                style = "green" if verdict == "caught" else "red"
                console.print(f"{verdict:9} {fault.name}", style=style, highlight=False)
    caught = verdicts.count("caught")
    console.print(f"mutants: {caught} caught, {len(verdicts) - caught} not", highlight=False)
    return 0 if caught == len(verdicts) else 1


def _chosen(arguments: Sequence[str]) -> list[Fault]:
    sets = [faults for name, faults in SETS.items() if name in arguments] or list(SETS.values())
    words = [each for each in arguments if each not in SETS]
    faults = [fault for each in sets for fault in each]
    return [each for each in faults if not words or any(word in each.name or word in each.file for word in words)]


def _tests(faults: Sequence[Fault]) -> Sequence[str]:
    """All that any of these needs, each once; a file stands for the tests in it."""
    named = dict.fromkeys(test for fault in faults for test in fault.tests or FOLD_SUITE)
    return [test for test in named if test.partition("::")[0] == test or test.partition("::")[0] not in named]


@contextmanager
def _stack(faults: Sequence[Fault]) -> Iterator[Environment]:
    """One broker and database for all runs; none for tests that use no sockets."""
    if not any("/integration/" in test or "/acceptance/" in test for fault in faults for test in fault.tests):
        yield os.environ
        return
    with (
        tempfile.TemporaryDirectory(prefix="roomkeeper-mutants-") as folder,
        running_stack(load(), Path(folder)) as stack,
    ):
        yield environment_for_children(stack.settings)


def _verdict(fault: Fault, environment: Environment) -> str:
    with _workplace() as place:
        file = place / fault.file
        text = file.read_text(encoding="utf-8")
        if text.count(fault.right) != 1:
            return "misfit"
        file.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
        done = _run(place, fault.tests or FOLD_SUITE, environment)
    return {0: "SURVIVES", FAILED: "caught"}.get(done.returncode, "breaks")


def _run(place: Path, tests: Sequence[str], environment: Environment) -> subprocess.CompletedProcess[str]:
    """These tests in that copy."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "--no-header",
        f"--timeout={900 if set(tests) >= set(FOLD_SUITE) else 120}",
        f"--hypothesis-profile={THOROUGH}",
        *tests,
    ]
    quiet = {**environment, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": str(place / "examples")}
    return subprocess.run(
        command, cwd=place, env=quiet, capture_output=True, text=True, check=False, timeout=60 * MINUTES
    )


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
