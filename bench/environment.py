"""The machine that a benchmark ran on, as far as it explains the figures."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Facts that go beside the figures."""

    cores: int
    memory_gib: float
    processor: str
    python: str
    system: str
    librdkafka: str
    load_before: float
    """Load average of the last minute when the run began: well above 0 means that the machine was not idle."""

    def as_figures(self) -> Mapping[str, str | float | int]:
        """For the JSON line."""
        return asdict(self)


def read_environment() -> Environment:
    """What the machine says of itself now."""
    return Environment(
        cores=len(os.sched_getaffinity(0)),
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        processor=_processor(),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()}",
        librdkafka=version("confluent-kafka"),
        load_before=round(os.getloadavg()[0], 2),
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
