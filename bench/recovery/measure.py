"""One restore: from a full changelog into an empty folder, until probes are answered out of what was restored."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.broker import Broker
from bench.process import MeasuredProcess
from bench.recovery.sides import Side, answers, probes
from bench.streams.measure import ROOT
from bench.streams.sides import Where
from bench.streams.status import TABLE
from bench.watch import Watch
from runtime.environment import environment_for_children
from runtime.settings import Settings
from schemas.errors import Broken

PROBES = 1_000

_MARK = "restored "
_SAMPLE_SECONDS = 0.25
_LONGEST_SECONDS = 1_800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one restore took."""

    records_per_s: float
    """Between the first batch and the last."""
    ready_seconds: float
    """From the start of the process to the last probe's answer."""
    peak_mb: float
    half_mb: float
    """Resident memory when half of the records were restored."""
    end_mb: float
    """Resident memory at the end of the restore."""


def prepare(side: Side, *, broker: Broker, app_id: str, keys: int, partitions: int) -> None:
    """Fill the side's changelog."""
    changelog = f"{app_id}-{TABLE}-changelog"
    broker.create(changelog, partitions=partitions, config={"cleanup.policy": "compact"})
    broker.fill(changelog, side.changelog(keys))


def measure(side: Side, *, broker: Broker, app_id: str, source: str, keys: int, partitions: int) -> Measured:
    """Restore once.

    Raises:
        Broken: it failed, stood still, or restored something else.
    """
    output = f"{app_id}-answers"
    broker.create(output, partitions=partitions)
    try:
        with tempfile.TemporaryDirectory(prefix="roomkeeper-bench-state-") as folder:
            where = Where(
                bootstrap_servers=broker.bootstrap_servers,
                app_id=app_id,
                source=source,
                output=output,
                state_dir=Path(folder),
                partitions=partitions,
            )
            measured = _run(side, broker=broker, where=where, keys=keys)
        _check(side, broker=broker, output=output, keys=keys)
    finally:
        broker.remove([output])
        broker.forget_group(app_id)
    return measured


def _run(side: Side, *, broker: Broker, where: Where, keys: int) -> Measured:
    env = {**environment_for_children(Settings()), "PYTHONPATH": str(ROOT)}
    samples: list[tuple[float, int]] = []

    def restored() -> Mapping[int, float] | None:
        samples.append((time.monotonic(), process.usage().resident_bytes))
        found = {int(line.removeprefix(_MARK)): at for line, at in process.marks().items() if line.startswith(_MARK)}
        return found if keys in found else None

    with MeasuredProcess(side.command(where), env=env, cwd=where.state_dir) as process:
        progress = process.wait_until(
            restored, what=f"{keys} records restored", within_seconds=_LONGEST_SECONDS, every_seconds=_SAMPLE_SECONDS
        )
        watch = Watch(broker, topic=where.output, records=len(list(probes(PROBES, keys=keys))))
        ended = process.wait_until(watch.ended, what="the probes' answers", within_seconds=_LONGEST_SECONDS)
        peak_bytes = process.usage().peak_bytes
    first, last = min(progress), max(progress)
    half_at = next(at for count, at in sorted(progress.items()) if count >= keys / 2)
    return Measured(
        records_per_s=(last - first) / (progress[last] - progress[first]),
        ready_seconds=ended - process.started_at_seconds,
        peak_mb=peak_bytes / 2**20,
        half_mb=_at(samples, half_at) / 2**20,
        end_mb=_at(samples, progress[last]) / 2**20,
    )


def _at(samples: list[tuple[float, int]], when: float) -> int:
    """The sample in force at a moment."""
    for (_, value), (after, _) in pairwise(samples):
        if after > when:
            return value
    return samples[-1][1]


def _check(side: Side, *, broker: Broker, output: str, keys: int) -> None:
    found = sorted((key, value or b"") for key, value in broker.read(output))
    if found != sorted(answers(PROBES, keys=keys)):
        raise Broken(f"{side.title}: the answers to the probes are not what the changelog says")
