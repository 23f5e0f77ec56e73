"""Every metric of every role: name, type, unit, labels and meaning. `docs/metrics.md` is generated from here.

Names follow Prometheus: the prefix `roomkeeper_`, then the role, base units, `_total` for what only rises. No label
ever holds a meeting, a room or a person; labels take few values.
"""

from __future__ import annotations

from types import ModuleType

from runtime.metrics.catalogue import ingress, poller, projectors, rooms, shared, streams, zoom
from runtime.metrics.spec import CounterSpec, GaugeSpec, HistogramSpec, Spec


def _specs(module: ModuleType) -> tuple[Spec, ...]:
    return tuple(each for each in vars(module).values() if isinstance(each, CounterSpec | GaugeSpec | HistogramSpec))


CATALOGUE: tuple[Spec, ...] = tuple(
    spec for module in (shared, ingress, streams, projectors, rooms, poller, zoom) for spec in _specs(module)
)
"""All of them, in the order of the docs."""
