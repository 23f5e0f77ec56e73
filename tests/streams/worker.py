"""A real worker process with counting folds: `python -m tests.streams.worker a b`, with settings in the environment."""

from __future__ import annotations

import asyncio
import sys

from roomkeeper.cli import exit_code
from runtime import logs
from runtime.clock import SystemClock
from runtime.settings import load
from schemas.errors import RoomkeeperError
from streams.runner import run
from tests.streams.counting import CountingFold


def main() -> int:
    """Run until told to stop; the exit code."""
    settings = load()
    clock = SystemClock()
    logs.configure(settings.log, role="streams", clock=clock)
    try:
        return asyncio.run(run(settings, [CountingFold(name) for name in sys.argv[1:]], clock=clock))
    except RoomkeeperError as error:
        sys.stderr.write(f"{error}\n")
        return exit_code(error)


if __name__ == "__main__":
    sys.exit(main())
