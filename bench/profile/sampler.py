"""py-spy beside a running process, and what it saw."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.process import MeasuredProcess
from schemas.errors import Misconfigured, Unavailable

SAMPLES_A_SECOND = 200
_STOP_SECONDS = 60.0

Stacks = Counter[tuple[str, ...]]
"""How often each stack was seen, as frames from the outermost to the innermost."""


@contextmanager
def sampled(process: MeasuredProcess, *, folder: Path) -> Iterator[Stacks]:
    """What holds the process's interpreter lock while the block lasts; complete after it.

    Raises:
        Misconfigured: py-spy is not installed.
        Unavailable: it may not look into the process.
    """
    program = Path(sys.executable).with_name("py-spy")
    if not program.exists():
        raise Misconfigured("py-spy is missing: pip install 'roomkeeper[bench]'")
    output = folder / "stacks"
    options = ["--gil", "--full-filenames", "--format", "raw", "--rate", str(SAMPLES_A_SECOND), "--output", str(output)]
    command = [str(program), "record", "--pid", str(process.pid), "--duration", "unlimited", *options]
    spy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    stacks: Stacks = Counter()
    try:
        yield stacks
    finally:
        spy.send_signal(signal.SIGINT)
        _, errors = spy.communicate(timeout=_STOP_SECONDS)
    if not output.exists():
        raise Unavailable(f"py-spy saw nothing: {errors}")
    stacks.update(_read(output))


def _read(output: Path) -> Mapping[tuple[str, ...], int]:
    found: Stacks = Counter()
    for line in output.read_text(encoding="utf-8").splitlines():
        stack, _, count = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(count)
    return found
