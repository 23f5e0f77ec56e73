"""What more than one role counts."""

from __future__ import annotations

from runtime.metrics.spec import CounterSpec, GaugeSpec

DEAD_LETTERS = CounterSpec(
    name="roomkeeper_dead_letters_total",
    meaning="Messages put on `dead-letters`, by who could not use them and the class of the error.",
    unit="messages",
    labels=("stage", "error"),
)
ALERTS = GaugeSpec(
    name="roomkeeper_alerts",
    meaning="1 while an alert stands, else 0.",
    unit="alerts",
    labels=("account", "alert"),
)
