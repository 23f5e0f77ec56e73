"""What ingress counts of webhooks. Children of metrics are looked up once: this is the hot path."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from prometheus_client import Counter, Gauge, Histogram

from runtime.metrics import catalogue
from runtime.metrics.registry import Metrics


class WebhookCounts:
    """Counters and times of webhooks."""

    def __init__(self, metrics: Metrics) -> None:
        """Counts into `metrics`."""
        self._metrics = metrics
        self._outcome = cache(self._make_outcome)
        self._produce = cache(self._make_produce)
        self._last = cache(self._make_last)

    def answered(self, outcome: str, seconds: float) -> None:
        """A request got its answer."""
        counter, histogram = self._outcome(outcome)
        counter.inc()
        histogram.observe(seconds)

    def refused(self, reason: str) -> None:
        """A request was answered 401."""
        self._metrics.counter(catalogue.INGRESS_REFUSALS, reason=reason).inc()

    def dead_letter(self, error: Exception) -> None:
        """An authentic body was no event."""
        self._metrics.counter(catalogue.DEAD_LETTERS, stage="ingress", error=type(error).__name__).inc()

    def acknowledged(self, topic: str, seconds: float) -> None:
        """The broker has a record."""
        self._produce(topic).observe(seconds)

    def heard(self, account_id: str, at: datetime) -> None:
        """An authentic event of an account came."""
        self._last(account_id).set(at.timestamp())

    def _make_outcome(self, outcome: str) -> tuple[Counter, Histogram]:
        return (
            self._metrics.counter(catalogue.INGRESS_WEBHOOKS, outcome=outcome),
            self._metrics.histogram(catalogue.INGRESS_WEBHOOK_SECONDS, outcome=outcome),
        )

    def _make_produce(self, topic: str) -> Histogram:
        return self._metrics.histogram(catalogue.INGRESS_PRODUCE_SECONDS, topic=topic)

    def _make_last(self, account_id: str) -> Gauge:
        return self._metrics.gauge(catalogue.INGRESS_LAST_WEBHOOK, account=account_id)
