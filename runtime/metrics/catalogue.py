"""Every metric of every role: name, type, unit, labels and meaning. `docs/metrics.md` is generated from here.

Names follow Prometheus: the prefix `roomkeeper_`, then the role, base units, `_total` for what only rises. No label
ever holds a meeting, a room or a person; labels take few values.
"""

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

DEAD_LETTERS = CounterSpec(
    name="roomkeeper_dead_letters_total",
    meaning="Messages put on `dead-letters`, by who could not use them and the class of the error.",
    unit="messages",
    labels=("stage", "error"),
)

INGRESS_WEBHOOKS = CounterSpec(
    name="roomkeeper_ingress_webhooks_total",
    meaning="Webhook requests by outcome: `accepted`, `challenge`, `dead_letter`, `refused`, `unavailable`, "
    "`too_large`, `disconnected`, `other`.",
    unit="requests",
    labels=("outcome",),
)
INGRESS_REFUSALS = CounterSpec(
    name="roomkeeper_ingress_refusals_total",
    meaning="Webhook requests answered 401, by reason.",
    unit="requests",
    labels=("reason",),
)
INGRESS_WEBHOOK_SECONDS = HistogramSpec(
    name="roomkeeper_ingress_webhook_seconds",
    meaning="From the first byte of a webhook to its answer, by outcome.",
    unit="seconds",
    buckets=FAST_SECONDS,
    labels=("outcome",),
)
INGRESS_PRODUCE_SECONDS = HistogramSpec(
    name="roomkeeper_ingress_produce_seconds",
    meaning="From handing a record to the producer to the broker's acknowledgement, by topic.",
    unit="seconds",
    buckets=FAST_SECONDS,
    labels=("topic",),
)
INGRESS_IN_FLIGHT = GaugeSpec(
    name="roomkeeper_ingress_in_flight_requests",
    meaning="Requests that wait for the broker at this moment.",
    unit="requests",
)
INGRESS_LAST_WEBHOOK = GaugeSpec(
    name="roomkeeper_ingress_last_webhook_timestamp_seconds",
    meaning="When the last authentic webhook of an account came; `time() - x` is the account's silence.",
    unit="seconds since 1970",
    labels=("account",),
)
INGRESS_REQUESTS = CounterSpec(
    name="roomkeeper_ingress_requests_total",
    meaning="Requests to `/v1`, by route (the pattern, not the path), method and status.",
    unit="requests",
    labels=("route", "method", "status"),
)
INGRESS_REQUEST_SECONDS = HistogramSpec(
    name="roomkeeper_ingress_request_seconds",
    meaning="Time taken by requests to `/v1`; those with `Prefer: wait` hold on purpose.",
    unit="seconds",
    buckets=SLOW_SECONDS,
    labels=("route", "method"),
)

STREAMS_LAG = GaugeSpec(
    name="roomkeeper_streams_lag_records",
    meaning="End of a source partition less the committed offset.",
    unit="records",
    labels=("topic", "partition"),
)
STREAMS_BATCH_RECORDS = HistogramSpec(
    name="roomkeeper_streams_batch_records",
    meaning="Records that an agent got at once.",
    unit="records",
    buckets=RECORDS,
    labels=("agent",),
)
STREAMS_FOLDS = CounterSpec(
    name="roomkeeper_streams_folds_total",
    meaning="Records folded, by outcome: `applied`, `overtaken` by newer facts, `repeated` or `rejected`.",
    unit="records",
    labels=("agent", "outcome"),
)
STREAMS_TRANSACTION_RECORDS = HistogramSpec(
    name="roomkeeper_streams_transaction_records",
    meaning="Source records in a transaction.",
    unit="records",
    buckets=RECORDS,
)
STREAMS_TRANSACTION_SECONDS = HistogramSpec(
    name="roomkeeper_streams_transaction_seconds",
    meaning="From the beginning of a transaction to its end, by outcome: `committed` or `aborted`.",
    unit="seconds",
    buckets=SLOW_SECONDS,
    labels=("outcome",),
)
STREAMS_COMMIT_SECONDS = HistogramSpec(
    name="roomkeeper_streams_commit_seconds",
    meaning="Time that the commit of a transaction took at the broker.",
    unit="seconds",
    buckets=SLOW_SECONDS,
)
STREAMS_RESTORED = CounterSpec(
    name="roomkeeper_streams_restored_records_total",
    meaning="Records read back from changelogs.",
    unit="records",
    labels=("table",),
)
STREAMS_RESTORE_REMAINING = GaugeSpec(
    name="roomkeeper_streams_restore_remaining_records",
    meaning="Records still to be read back before a partition is served; 0 when it is.",
    unit="records",
    labels=("table", "partition"),
)
STREAMS_DELAY_SECONDS = HistogramSpec(
    name="roomkeeper_streams_delay_seconds",
    meaning="From the moment the broker took a source record to the commit of what follows from it.",
    unit="seconds",
    buckets=SLOW_SECONDS,
    labels=("agent",),
)

PROJECTOR_RECORDS = CounterSpec(
    name="roomkeeper_projector_records_total",
    meaning="Records whose rows are committed.",
    unit="records",
    labels=("projection",),
)
PROJECTOR_BATCH_RECORDS = HistogramSpec(
    name="roomkeeper_projector_batch_records",
    meaning="Records written in one database transaction.",
    unit="records",
    buckets=RECORDS,
    labels=("projection",),
)
PROJECTOR_TRANSACTION_SECONDS = HistogramSpec(
    name="roomkeeper_projector_transaction_seconds",
    meaning="Time that a database transaction took, from its beginning to its commit.",
    unit="seconds",
    buckets=FAST_SECONDS,
    labels=("projection",),
)
PROJECTOR_DELAY_SECONDS = HistogramSpec(
    name="roomkeeper_projector_delay_seconds",
    meaning="From the moment the broker took the oldest record of a batch to the commit of its rows.",
    unit="seconds",
    buckets=SLOW_SECONDS,
    labels=("projection",),
)
PROJECTOR_LAG = GaugeSpec(
    name="roomkeeper_projector_lag_records",
    meaning="End of a partition less the stored offset, for partitions that this process owns.",
    unit="records",
    labels=("projection", "partition"),
)
PROJECTOR_HOLDS = CounterSpec(
    name="roomkeeper_projector_holds_total",
    meaning="Times that a projection held its partitions because the database or the broker did not answer.",
    unit="holds",
    labels=("projection",),
)
PROJECTOR_OVERTAKEN = CounterSpec(
    name="roomkeeper_projector_overtaken_total",
    meaning="Batches given up because another process had moved the partition's offset: the fence after a take-over.",
    unit="batches",
    labels=("projection",),
)
PROJECTOR_EXPIRED = CounterSpec(
    name="roomkeeper_projector_expired_records_total",
    meaning="Records that retention removed before they were read: call for `roomkeeper projectors rebuild`.",
    unit="records",
    labels=("projection",),
)

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

ZOOM_CALLS = CounterSpec(
    name="roomkeeper_zoom_calls_total",
    meaning="Tries of calls to Zoom, by endpoint and outcome: `done`, the status, or why there was no answer.",
    unit="calls",
    labels=("endpoint", "outcome"),
)
ZOOM_CALL_SECONDS = HistogramSpec(
    name="roomkeeper_zoom_call_seconds",
    meaning="Time that answers of Zoom took.",
    unit="seconds",
    buckets=SLOW_SECONDS,
    labels=("endpoint",),
)
ZOOM_TOKEN_RENEWALS = CounterSpec(
    name="roomkeeper_zoom_token_renewals_total",
    meaning="Tokens asked of Zoom, by outcome: `renewed`, `failed`, or `refused` credentials.",
    unit="renewals",
    labels=("account", "outcome"),
)
ZOOM_BREAKER = GaugeSpec(
    name="roomkeeper_zoom_breaker_open",
    meaning="An account's circuit breaker: 0 closed, 0.5 half-open, 1 open.",
    unit="state",
    labels=("account",),
)
ZOOM_BUDGET_LEFT = GaugeSpec(
    name="roomkeeper_zoom_budget_left_calls",
    meaning="What is left today of the scarcest budget of each scope: `host`, `label`, `registrant`, `status`.",
    unit="calls",
    labels=("account", "scope"),
)
ALERTS = GaugeSpec(
    name="roomkeeper_alerts",
    meaning="1 while an alert stands, else 0.",
    unit="alerts",
    labels=("account", "alert"),
)


CATALOGUE: tuple[Spec, ...] = (
    DEAD_LETTERS,
    INGRESS_WEBHOOKS,
    INGRESS_REFUSALS,
    INGRESS_WEBHOOK_SECONDS,
    INGRESS_PRODUCE_SECONDS,
    INGRESS_IN_FLIGHT,
    INGRESS_LAST_WEBHOOK,
    INGRESS_REQUESTS,
    INGRESS_REQUEST_SECONDS,
    STREAMS_LAG,
    STREAMS_BATCH_RECORDS,
    STREAMS_FOLDS,
    STREAMS_TRANSACTION_RECORDS,
    STREAMS_TRANSACTION_SECONDS,
    STREAMS_COMMIT_SECONDS,
    STREAMS_RESTORED,
    STREAMS_RESTORE_REMAINING,
    STREAMS_DELAY_SECONDS,
    PROJECTOR_RECORDS,
    PROJECTOR_BATCH_RECORDS,
    PROJECTOR_TRANSACTION_SECONDS,
    PROJECTOR_DELAY_SECONDS,
    PROJECTOR_LAG,
    PROJECTOR_HOLDS,
    PROJECTOR_OVERTAKEN,
    PROJECTOR_EXPIRED,
    ROOMS_CLAIMED,
    ROOMS_OUTCOMES,
    ROOMS_WORK_SECONDS,
    ROOMS_QUEUE,
    ROOMS_QUEUE_AGE,
    OUTBOX_ROWS,
    POLLER_LAGGING,
    POLLER_VISITS,
    POLLER_RUNS,
    POLLER_OBSERVATIONS,
    POLLER_LEADS,
    POLLER_WAITING,
    POLLER_PASS_SECONDS,
    POLLER_DELIVERIES,
    ZOOM_CALLS,
    ZOOM_CALL_SECONDS,
    ZOOM_TOKEN_RENEWALS,
    ZOOM_BREAKER,
    ZOOM_BUDGET_LEFT,
    ALERTS,
)
"""All of them, in the order of the docs."""
