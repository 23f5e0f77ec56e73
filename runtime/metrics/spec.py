"""What there is to know of a metric: its name, type, unit, labels and meaning."""

from __future__ import annotations

from dataclasses import dataclass

FAST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0, 2.5, 5.0)
"""From a local answer to the time at which ingress gives up."""
SLOW_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""From a good day to a long outage."""
RECORDS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0)
"""Sizes of batches and transactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSpec:
    """Something that only rises."""

    name: str
    meaning: str
    unit: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GaugeSpec:
    """Something that rises and falls."""

    name: str
    meaning: str
    unit: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramSpec:
    """How something is spread."""

    name: str
    meaning: str
    unit: str
    buckets: tuple[float, ...]
    labels: tuple[str, ...] = ()


Spec = CounterSpec | GaugeSpec | HistogramSpec
