"""The counts of one process. A metric appears once it is used, so a role shows its own and no other's."""

from __future__ import annotations

from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from runtime.metrics.spec import CounterSpec, GaugeSpec, HistogramSpec

M = TypeVar("M", Counter, Gauge, Histogram)


class Metrics:
    """Counters, gauges and histograms by their place in the catalogue. Safe to use from any thread.

    What a method gives may be kept: on a hot path, ask once and call `inc` or `observe` on it.
    """

    def __init__(self) -> None:
        """Nothing counted yet, but for what the machine says of the process."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, Gauge] = {}
        self._histograms: dict[str, Histogram] = {}

    def counter(self, spec: CounterSpec, **labels: str) -> Counter:
        """The counter with these labels.

        Raises:
            ValueError: not the labels that the catalogue names.
        """
        found = self._counters.get(spec.name)
        if found is None:
            made = Counter(spec.name, spec.meaning, spec.labels, registry=None)
            found = self._added(self._counters, spec.name, made)
        return found.labels(**labels) if labels else found

    def gauge(self, spec: GaugeSpec, **labels: str) -> Gauge:
        """The gauge with these labels.

        Raises:
            ValueError: not the labels that the catalogue names.
        """
        found = self._gauges.get(spec.name)
        if found is None:
            made = Gauge(spec.name, spec.meaning, spec.labels, registry=None)
            found = self._added(self._gauges, spec.name, made)
        return found.labels(**labels) if labels else found

    def histogram(self, spec: HistogramSpec, **labels: str) -> Histogram:
        """The histogram with these labels.

        Raises:
            ValueError: not the labels that the catalogue names.
        """
        found = self._histograms.get(spec.name)
        if found is None:
            made = Histogram(spec.name, spec.meaning, spec.labels, registry=None, buckets=spec.buckets)
            found = self._added(self._histograms, spec.name, made)
        return found.labels(**labels) if labels else found

    def exposition(self) -> tuple[bytes, str]:
        """All counts in Prometheus' text format, and its content type."""
        return generate_latest(self.registry), CONTENT_TYPE_PLAIN_0_0_4

    def value(self, spec: CounterSpec | GaugeSpec, **labels: str) -> float:
        """What a counter or gauge shows now; 0 when it was never used."""
        return self.registry.get_sample_value(spec.name, labels) or 0.0

    def _added(self, known: dict[str, M], name: str, made: M) -> M:
        """The metric under this name; of two threads that make it at once, one wins (setdefault is atomic)."""
        kept = known.setdefault(name, made)
        if kept is made:
            self.registry.register(made)
        return kept
