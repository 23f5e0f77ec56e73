"""One side, one round: start it on a topic that is full, take the time until all is visible, check it, clean up.

The clock runs from the first event that the side's fold sees to the moment at which a `read_committed` reader could
read every output. Starting up, joining the group and stopping do not count, for nobody.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from bench.broker import Broker
from bench.process import MeasuredProcess
from bench.streams.check import check_outputs, check_state
from bench.streams.courses import Course
from bench.streams.sides import Side, Where
from bench.watch import Watch
from runtime.environment import environment_for_children
from runtime.settings import Settings
from schemas.errors import Broken

ROOT = Path(__file__).resolve().parents[2]

_START_SECONDS = 120.0
_LONGEST_SECONDS = 3_600.0
_LOOK_SECONDS = 0.1
"""How often the broker is asked for the end: the question itself takes what the sides need."""


Beside = Callable[[MeasuredProcess], AbstractContextManager[None]]


def nothing(_process: MeasuredProcess) -> AbstractContextManager[None]:
    """Nothing beside it."""
    return nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one side did in one round."""

    events_per_s: float
    cpu_seconds_per_100k: float
    """Of its own process, for 100,000 events, while the clock ran."""
    peak_mb: float


def measure(side: Side, *, broker: Broker, course: Course, app_id: str, beside: Beside = nothing) -> Measured:
    """Run one side once, with something `beside` it while the clock runs.

    Raises:
        Broken: it failed, stood still, or its results are wrong.
    """
    with _topics(side, broker=broker, course=course, app_id=app_id) as output:
        with tempfile.TemporaryDirectory(prefix="roomkeeper-bench-state-") as folder:
            where = Where(
                bootstrap_servers=broker.bootstrap_servers,
                app_id=app_id,
                source=course.source,
                output=output,
                state_dir=Path(folder),
                partitions=course.partitions,
            )
            measured = _run(side, broker=broker, where=where, course=course, beside=beside)
        check_outputs(side, broker.read(output), course)
        check_state(side, broker.read(_changelog(broker, app_id)), course)
    return measured


@contextmanager
def _topics(side: Side, *, broker: Broker, course: Course, app_id: str) -> Iterator[str]:
    """The side's output topic, and its changelog where it wants one; all its topics are gone afterwards."""
    output = side.output or f"{app_id}-answers"
    broker.create(output, partitions=course.partitions)
    try:
        if side.table is not None:
            broker.create(
                f"{app_id}-{side.table}-changelog", partitions=course.partitions, config={"cleanup.policy": "compact"}
            )
        yield output
    finally:
        broker.remove({output, *broker.topics_with(app_id)})


def _run(side: Side, *, broker: Broker, where: Where, course: Course, beside: Beside) -> Measured:
    env = {**environment_for_children(Settings()), "PYTHONPATH": str(ROOT)}
    with MeasuredProcess(side.command(where), env=env, cwd=where.state_dir) as process:
        began = process.wait_for_mark("first", within_seconds=_START_SECONDS)
        before = process.usage()
        watch = Watch(broker, topic=where.output, records=len(course.outputs))
        with beside(process):
            ended = process.wait_until(
                watch.ended, what="its last output", within_seconds=_LONGEST_SECONDS, every_seconds=_LOOK_SECONDS
            )
        after = process.usage()
    return Measured(
        events_per_s=course.events / (ended - began),
        cpu_seconds_per_100k=(after.cpu_seconds - before.cpu_seconds) / course.events * 100_000,
        peak_mb=after.peak_bytes / 2**20,
    )


def _changelog(broker: Broker, app_id: str) -> str:
    found = [topic for topic in broker.topics_with(app_id) if "changelog" in topic]
    if len(found) != 1:
        raise Broken(f"expected one changelog of {app_id}, found {found}")
    return found[0]
