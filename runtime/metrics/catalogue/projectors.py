"""What projectors count."""

from __future__ import annotations

from runtime.metrics.spec import FAST_SECONDS, RECORDS, SLOW_SECONDS, CounterSpec, GaugeSpec, HistogramSpec

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
