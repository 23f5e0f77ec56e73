"""What the poller counts."""

from __future__ import annotations

from runtime.metrics.spec import SLOW_SECONDS, CounterSpec, GaugeSpec, HistogramSpec

POLLER_LAGGING = CounterSpec(
    name="roomkeeper_poller_lagging_total",
    meaning="Rooms that were asked about because a lag rule held, by rule.",
    unit="rooms",
    labels=("rule",),
)
POLLER_VISITS = CounterSpec(
    name="roomkeeper_poller_visits_total",
    meaning="Rooms that were asked about: `done`, `missing`, or the reason why Zoom did not say.",
    unit="rooms",
    labels=("outcome",),
)
POLLER_RUNS = CounterSpec(
    name="roomkeeper_poller_runs_total",
    meaning="Runs compared with Zoom's past data, by outcome; `unheard` are those that no webhook had told of.",
    unit="runs",
    labels=("outcome",),
)
POLLER_OBSERVATIONS = CounterSpec(
    name="roomkeeper_poller_observations_total",
    meaning="Observations put on `zoom-events`.",
    unit="records",
)
POLLER_LEADS = GaugeSpec(
    name="roomkeeper_poller_leads",
    meaning="1 while this process leads, else 0.",
    unit="processes",
)
POLLER_WAITING = GaugeSpec(
    name="roomkeeper_poller_waiting",
    meaning="Rooms that lag and did not fit into the newest pass.",
    unit="rooms",
)
POLLER_PASS_SECONDS = HistogramSpec(
    name="roomkeeper_poller_pass_seconds",
    meaning="Time that a pass took.",
    unit="seconds",
    buckets=SLOW_SECONDS,
)
POLLER_DELIVERIES = CounterSpec(
    name="roomkeeper_poller_deliveries_total",
    meaning="Failed webhook deliveries found in Zoom's logs: `taken`, `unreadable` (dead letters) or `refused`.",
    unit="deliveries",
    labels=("outcome",),
)
