"""What each Python peer is told on its command line, and how it marks what happens."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

PREFIX = "bench-"
"""Of every topic and group of the benchmarks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Where to read, fold and write."""

    bootstrap_servers: str
    app_id: str
    source: str
    output: str
    state_dir: Path
    partitions: int


def read_arguments() -> Arguments:
    """The arguments of this process, in the order that `Arguments` has them."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap_servers", "app_id", "source", "output"):
        parser.add_argument(name)
    parser.add_argument("state_dir", type=Path)
    parser.add_argument("partitions", type=int)
    return Arguments(**vars(parser.parse_args()))


def mark(line: str) -> None:
    """Tell the bench that something happened now; past Faust, which turns standard output into a log."""
    if sys.__stdout__ is not None:
        sys.__stdout__.write(f"{line}\n")
        sys.__stdout__.flush()
