"""What stream workers count."""

from __future__ import annotations

from runtime.metrics.spec import RECORDS, SLOW_SECONDS, CounterSpec, GaugeSpec, HistogramSpec

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
