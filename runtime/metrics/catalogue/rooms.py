"""What room workers and outbox relays count."""

from __future__ import annotations

from runtime.metrics.spec import SLOW_SECONDS, CounterSpec, GaugeSpec, HistogramSpec

ROOMS_CLAIMED = CounterSpec(
    name="roomkeeper_rooms_claimed_total",
    meaning="Room requests claimed, by action.",
    unit="requests",
    labels=("action",),
)
ROOMS_OUTCOMES = CounterSpec(
    name="roomkeeper_rooms_outcomes_total",
    meaning="What became of claimed room requests, by action and outcome.",
    unit="requests",
    labels=("action", "outcome"),
)
ROOMS_WORK_SECONDS = HistogramSpec(
    name="roomkeeper_rooms_work_seconds",
    meaning="From the moment that work was added to a meeting to its outcome.",
    unit="seconds",
    buckets=SLOW_SECONDS,
    labels=("action",),
)
ROOMS_QUEUE = GaugeSpec(
    name="roomkeeper_rooms_queue_requests",
    meaning="Room requests that are not finished: `due` could be worked on now, `leased` are, `later` wait.",
    unit="requests",
    labels=("account", "state"),
)
ROOMS_QUEUE_AGE = GaugeSpec(
    name="roomkeeper_rooms_queue_age_seconds",
    meaning="Age of an account's oldest room request that is not finished; 0 when there is none.",
    unit="seconds",
    labels=("account",),
)
OUTBOX_ROWS = CounterSpec(
    name="roomkeeper_outbox_rows_total",
    meaning="Rows taken from an outbox: `moved` to Kafka, or `rejected` and set aside.",
    unit="rows",
    labels=("outbox", "outcome"),
)
