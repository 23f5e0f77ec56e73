"""The engine's progress as metrics of the catalogue."""

from __future__ import annotations

from runtime.clock import Clock
from runtime.metrics.catalogue.shared import DEAD_LETTERS
from runtime.metrics.catalogue.streams import (
    STREAMS_BATCH_RECORDS,
    STREAMS_COMMIT_SECONDS,
    STREAMS_DELAY_SECONDS,
    STREAMS_FOLDS,
    STREAMS_LAG,
    STREAMS_RESTORE_REMAINING,
    STREAMS_RESTORED,
    STREAMS_TRANSACTION_RECORDS,
    STREAMS_TRANSACTION_SECONDS,
)
from runtime.metrics.registry import Metrics
from streams.engine.observer import Tally


class MetricsObserver:
    """Implements `streams.engine.observer.Observer`."""

    def __init__(self, metrics: Metrics, *, clock: Clock) -> None:
        """Counts in the process's registry."""
        self._metrics = metrics
        self._clock = clock

    def batch(self, table: str, *, records: int) -> None:
        """An agent got so many records at once."""
        self._metrics.histogram(STREAMS_BATCH_RECORDS, agent=table).observe(records)

    def committed(self, tally: Tally, *, seconds: float, commit_seconds: float) -> None:
        """A transaction is committed, and what it did counts."""
        metrics = self._metrics
        metrics.histogram(STREAMS_TRANSACTION_RECORDS).observe(tally.events)
        metrics.histogram(STREAMS_TRANSACTION_SECONDS, outcome="committed").observe(seconds)
        metrics.histogram(STREAMS_COMMIT_SECONDS).observe(commit_seconds)
        for (table, outcome), count in tally.outcomes.items():
            metrics.counter(STREAMS_FOLDS, agent=table, outcome=outcome).inc(count)
        for (stage, error), count in tally.dead_letters.items():
            metrics.counter(DEAD_LETTERS, stage=stage, error=error).inc(count)
        now_ms = self._clock.now().timestamp() * 1000
        for table, oldest_ms in tally.oldest_ms.items():
            delay_seconds = max(0.0, (now_ms - oldest_ms) / 1000)
            metrics.histogram(STREAMS_DELAY_SECONDS, agent=table).observe(delay_seconds)

    def aborted(self, *, seconds: float) -> None:
        """A transaction is aborted."""
        self._metrics.histogram(STREAMS_TRANSACTION_SECONDS, outcome="aborted").observe(seconds)

    def restored(self, table: str, *, partition: int, records: int, remaining: int) -> None:
        """A restore has come so far."""
        self._metrics.counter(STREAMS_RESTORED, table=table).inc(records)
        self._metrics.gauge(STREAMS_RESTORE_REMAINING, table=table, partition=str(partition)).set(remaining)

    def lag(self, topic: str, *, partition: int, records: int) -> None:
        """A source partition lags so far."""
        self._metrics.gauge(STREAMS_LAG, topic=topic, partition=str(partition)).set(records)
