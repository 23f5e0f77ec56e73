"""What ingress counts."""

from __future__ import annotations

from runtime.metrics.spec import FAST_SECONDS, SLOW_SECONDS, CounterSpec, GaugeSpec, HistogramSpec

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
