"""What every caller of Zoom counts."""

from __future__ import annotations

from runtime.metrics.spec import SLOW_SECONDS, CounterSpec, GaugeSpec, HistogramSpec

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
