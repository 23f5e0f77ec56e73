"""What a projector says of itself: its metrics, and a log line for whatever is not everyday work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import structlog

from projectors.engine.slices import Slice, Written
from runtime.clock import Clock
from runtime.metrics.catalogue.projectors import (
    PROJECTOR_BATCH_RECORDS,
    PROJECTOR_DELAY_SECONDS,
    PROJECTOR_EXPIRED,
    PROJECTOR_HOLDS,
    PROJECTOR_LAG,
    PROJECTOR_OVERTAKEN,
    PROJECTOR_RECORDS,
    PROJECTOR_TRANSACTION_SECONDS,
)
from runtime.metrics.catalogue.shared import DEAD_LETTERS
from runtime.metrics.registry import Metrics
from schemas.errors import Unavailable


class Observer:
    """The voice of one projection."""

    def __init__(self, metrics: Metrics, *, projection: str, stage: str, clock: Clock) -> None:
        """`stage` is how the projection signs its dead letters."""
        self._metrics = metrics
        self._name = projection
        self._stage = stage
        self._clock = clock
        self._log = structlog.get_logger().bind(projection=projection)

    def started(self, positions: Mapping[int, int]) -> None:
        """Partitions flow from these offsets."""
        self._log.info("projector.started", positions={str(each): at for each, at in sorted(positions.items())})

    def expired(self, partition: int, *, offset: int, first: int) -> None:
        """Records between these offsets are gone. From 0 that is how a new database meets an old topic."""
        self._metrics.counter(PROJECTOR_EXPIRED, projection=self._name).inc(first - offset)
        self._log.error("projector.expired", partition=partition, offset=offset, first=first, cure="projectors rebuild")

    def held(self, error: Unavailable, *, wait_seconds: float) -> None:
        """The partitions are held."""
        self._metrics.counter(PROJECTOR_HOLDS, projection=self._name).inc()
        self._log.warning("projector.held", cause=str(error), wait_seconds=round(wait_seconds, 3))

    def broker_away(self, error: Unavailable) -> None:
        """The broker does not say how far behind we are."""
        self._log.warning("projector.broker_away", cause=str(error))

    def lag(self, lag: Mapping[int, int]) -> None:
        """How far each owned partition is behind."""
        for partition, records in lag.items():
            gauge = self._metrics.gauge(PROJECTOR_LAG, projection=self._name, partition=str(partition))
            gauge.set(records)

    @contextmanager
    def writing(self, slices: Sequence[Slice]) -> Iterator[list[Written]]:
        """Observe one transaction; the block puts what was written into the list."""
        began = self._clock.monotonic_seconds()
        seen: list[Written] = []
        yield seen
        taken_seconds = self._clock.monotonic_seconds() - began
        for written in seen:
            self._written(slices, written, taken_seconds=taken_seconds)

    def _written(self, slices: Sequence[Slice], written: Written, *, taken_seconds: float) -> None:
        records = sum(len(each.records) for each in slices)
        oldest_ms = min(each.records[0].timestamp_ms for each in slices)
        delay_seconds = max(0.0, self._clock.now().timestamp() - oldest_ms / 1000)
        name = self._name
        self._metrics.counter(PROJECTOR_RECORDS, projection=name).inc(written.applied)
        self._metrics.histogram(PROJECTOR_BATCH_RECORDS, projection=name).observe(records)
        self._metrics.histogram(PROJECTOR_TRANSACTION_SECONDS, projection=name).observe(taken_seconds)
        self._metrics.histogram(PROJECTOR_DELAY_SECONDS, projection=name).observe(delay_seconds)
        self._log.debug("projector.written", records=records, applied=written.applied, duration_ms=taken_seconds * 1000)
        if written.refused:
            self._refused(written)
        if written.overtaken:
            self._metrics.counter(PROJECTOR_OVERTAKEN, projection=name).inc()
            self._log.warning("projector.overtaken", partitions=sorted(written.overtaken))

    def _refused(self, written: Written) -> None:
        errors = Counter(type(each.error).__name__ for each in written.refused)
        for error, count in errors.items():
            self._metrics.counter(DEAD_LETTERS, stage=self._stage, error=error).inc(count)
        first = written.refused[0]
        self._log.warning(
            "projector.dead_letters",
            count=len(written.refused),
            errors=dict(errors),
            first=f"{first.consumed.topic}/{first.consumed.partition}/{first.consumed.offset}",
            cause=str(first.error),
        )
