"""One side, one round: start it on a topic that is full, take the time until all is visible, check it, clean up.

The clock runs from the first event that the side's fold sees to the moment at which a `read_committed` reader could read
every output. Starting up, joining the group and stopping do not count, for nobody.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.broker import Broker
from bench.process import MeasuredProcess
from bench.streams.check import check_answers, check_state
from bench.streams.sides import Side, Where
from bench.streams.workload import Expected
from schemas.errors import Broken

_ROOT = Path(__file__).resolve().parent.parent.parent
_START_SECONDS = 120.0
_SILENT_SECONDS = 60.0
_SETTLED_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one side did in one round."""

    events_per_s: float
    cpu_seconds_per_100k: float
    """Of its own process, for 100,000 events, while the clock ran."""
    peak_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What all sides run: a full topic and what must come of it."""

    source: str
    partitions: int
    expected: Expected


def measure(side: Side, *, broker: Broker, course: Course, app_id: str) -> Measured:
    """Run one side once.

    Raises:
        Broken: it failed, stood still, or its results are wrong.
    """
    output = f"{app_id}-answers"
    broker.create(output, partitions=course.partitions)
    try:
        with tempfile.TemporaryDirectory(prefix="roomkeeper-bench-state-") as folder:
            where = Where(
                bootstrap_servers=broker.bootstrap_servers,
                app_id=app_id,
                source=course.source,
                output=output,
                state_dir=Path(folder),
                partitions=course.partitions,
            )
            measured = _run(side, broker=broker, where=where, events=len(course.expected.answers))
        check_answers(side, broker.read(output), course.expected)
        check_state(side, broker.read(_changelog(broker, app_id)), course.expected)
    finally:
        broker.remove(broker.topics_with(app_id))
    return measured


def _run(side: Side, *, broker: Broker, where: Where, events: int) -> Measured:
    env = {**os.environ, "PYTHONPATH": str(_ROOT)}  # noqa: TID251 - passed on to the peer, not read
    with MeasuredProcess(side.command(where), env=env, cwd=where.state_dir) as process:
        began = process.wait_for_mark("first", within_seconds=_START_SECONDS)
        before = process.usage()
        watch = _Watch(broker, topic=where.output, events=events)
        ended = process.wait_until(watch.ended, what="its last output", within_seconds=3600.0)
        after = process.usage()
    return Measured(
        events_per_s=events / (ended - began),
        cpu_seconds_per_100k=(after.cpu_seconds - before.cpu_seconds) / events * 100_000,
        peak_mb=after.peak_bytes / 2**20,
    )


class _Watch:
    """Sees when the last output became visible. Offsets hold commit markers too, so the end is when nothing more comes."""

    def __init__(self, broker: Broker, *, topic: str, events: int) -> None:
        self._broker = broker
        self._topic = topic
        self._events = events
        self._visible = -1
        self._changed_at = time.monotonic()

    def ended(self) -> float | None:
        """The monotonic second of the last change, once it is known to have been the last."""
        asked_at = time.monotonic()
        visible = sum(self._broker.stable_offsets(self._topic).values())
        if visible != self._visible:
            self._visible, self._changed_at = visible, asked_at
        silent_seconds = asked_at - self._changed_at
        if silent_seconds > _SILENT_SECONDS:
            raise Broken(f"nothing came for {_SILENT_SECONDS:.0f} s after {visible} of {self._events} outputs")
        if visible < self._events or silent_seconds < _SETTLED_SECONDS:
            return None
        return self._changed_at if visible == sum(self._broker.end_offsets(self._topic).values()) else None


def _changelog(broker: Broker, app_id: str) -> str:
    found = [topic for topic in broker.topics_with(app_id) if "changelog" in topic]
    if len(found) != 1:
        raise Broken(f"expected one changelog of {app_id}, found {found}")
    return found[0]
