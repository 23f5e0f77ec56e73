"""`docs/metrics.md`, made from the catalogue."""

from __future__ import annotations

from runtime.metrics.catalogue import CATALOGUE, CounterSpec, GaugeSpec, Spec

_HEAD = """\
# Metrics

Generated from `runtime/metrics/catalogue.py` by `make docs`. Ingress shows them at `/metrics`; the other roles at
`ROOMKEEPER_METRICS__HOST` and `ROOMKEEPER_METRICS__PORT`, when a port is set. Beside these each role shows the process'
own (`process_cpu_seconds_total`, `process_resident_memory_bytes`, ...).

| name | type | unit | labels | meaning |
|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(map(_row, CATALOGUE))


def _row(spec: Spec) -> str:
    labels = ", ".join(f"`{label}`" for label in spec.labels)
    return f"| `{spec.name}` | {_kind(spec)} | {spec.unit} | {labels} | {spec.meaning} |\n"


def _kind(spec: Spec) -> str:
    if isinstance(spec, CounterSpec):
        return "counter"
    return "gauge" if isinstance(spec, GaugeSpec) else "histogram"
