"""Our side: the simple fold's worker, which tells how far its restore has come."""

from __future__ import annotations

import sys
from typing import Any

from bench.peers.arguments import mark, read_arguments
from bench.streams.ours import status_fold, work
from runtime.clock import SystemClock
from runtime.metrics.registry import Metrics
from streams.metrics import MetricsObserver


class MarkingObserver(MetricsObserver):
    """The product's observer, and a mark after each batch restored."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """As the product's."""
        super().__init__(*arguments, **named)
        self._restored = 0

    def restored(self, table: str, *, partition: int, records: int, remaining: int) -> None:
        """So many more records of a changelog are in RocksDB."""
        super().restored(table, partition=partition, records=records, remaining=remaining)
        self._restored += records
        mark(f"restored {self._restored}")


def main() -> int:
    """Restore, then fold until SIGTERM."""
    arguments = read_arguments()
    return work(status_fold(arguments), arguments, observer=MarkingObserver(Metrics(), clock=SystemClock()))


if __name__ == "__main__":
    sys.exit(main())
