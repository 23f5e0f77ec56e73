"""What ingress counts of webhooks: on the hot path it adds to plain numbers, which are read when somebody asks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from datetime import datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from runtime.metrics.catalogue.ingress import (
    INGRESS_LAST_WEBHOOK,
    INGRESS_PRODUCE_SECONDS,
    INGRESS_REFUSALS,
    INGRESS_WEBHOOK_SECONDS,
    INGRESS_WEBHOOKS,
)
from runtime.metrics.catalogue.shared import DEAD_LETTERS
from runtime.metrics.registry import Metrics
from runtime.metrics.spec import HistogramSpec


class Spread:
    """How something is spread over a histogram's buckets."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, spec: HistogramSpec) -> None:
        """Nothing yet."""
        self._bounds = spec.buckets
        self.counts = [0] * (len(spec.buckets) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """One more."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def buckets(self) -> list[tuple[str, float]]:
        """Upper bounds with how many lie below them, as Prometheus wants them."""
        found: list[tuple[str, float]] = []
        below = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self.counts, strict=True):
            below += count
            found.append((bound, float(below)))
        return found


class WebhookCounts(Collector):
    """Counters and times of webhooks, added to in the event loop alone."""

    def __init__(self, metrics: Metrics) -> None:
        """Shown among `metrics`."""
        self._answers: dict[str, Spread] = {}
        self._produced: dict[str, Spread] = {}
        self._heard_at: dict[str, datetime] = {}
        self._metrics = metrics
        metrics.registry.register(self)

    def answered(self, outcome: str, seconds: float) -> None:
        """A request got its answer."""
        spread = self._answers.get(outcome)
        if spread is None:
            spread = self._answers[outcome] = Spread(INGRESS_WEBHOOK_SECONDS)
        spread.add(seconds)

    def acknowledged(self, topic: str, seconds: float) -> None:
        """The broker has a record."""
        spread = self._produced.get(topic)
        if spread is None:
            spread = self._produced[topic] = Spread(INGRESS_PRODUCE_SECONDS)
        spread.add(seconds)

    def heard(self, account_id: str, at: datetime) -> None:
        """An authentic event of an account came."""
        self._heard_at[account_id] = at

    def refused(self, reason: str) -> None:
        """A request was answered 401."""
        self._metrics.counter(INGRESS_REFUSALS, reason=reason).inc()

    def dead_letter(self, error: Exception) -> None:
        """An authentic body was no event."""
        self._metrics.counter(DEAD_LETTERS, stage="ingress", error=type(error).__name__).inc()

    def collect(self) -> Iterable[Metric]:
        """What Prometheus is shown."""
        spec = INGRESS_WEBHOOKS
        counter = CounterMetricFamily(spec.name, spec.meaning, labels=spec.labels)
        for outcome, spread in list(self._answers.items()):
            counter.add_metric([outcome], sum(spread.counts))
        yield counter
        yield _histogram(INGRESS_WEBHOOK_SECONDS, self._answers)
        yield _histogram(INGRESS_PRODUCE_SECONDS, self._produced)
        last = INGRESS_LAST_WEBHOOK
        gauge = GaugeMetricFamily(last.name, last.meaning, labels=last.labels)
        for account_id, at in list(self._heard_at.items()):
            gauge.add_metric([account_id], at.timestamp())
        yield gauge


def _histogram(spec: HistogramSpec, spreads: dict[str, Spread]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(spec.name, spec.meaning, labels=spec.labels)
    for label, spread in list(spreads.items()):
        family.add_metric([label], spread.buckets(), spread.total)
    return family
