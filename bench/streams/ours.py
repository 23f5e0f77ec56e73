"""Our side: the simple fold on Roomkeeper's engine, through the interface that the product's folds use."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from bench.peers.arguments import PREFIX, Arguments, mark, read_arguments
from bench.streams.codec import Plain, decode_event, decode_status, encode_answer, encode_status
from bench.streams.status import TABLE, answer_to, is_newer, status_of
from runtime import logs
from runtime.clock import SystemClock
from runtime.metrics.registry import Metrics
from runtime.settings import KafkaSettings, LogSettings, Settings, StreamsSettings
from streams.engine.observer import Observer
from streams.fold import Fold, Folded, Input, Output
from streams.metrics import MetricsObserver
from streams.runner import run


class StatusFold:
    """Implements `streams.fold.Fold`."""

    table = TABLE

    def __init__(self, *, source: str, output: str) -> None:
        """Both topics without the prefix."""
        self.source = source
        self._output = output
        self._started = False

    def fold(self, record: Input, read: Callable[[str], Plain | None], *, generation: int) -> Folded[Plain]:  # noqa: ARG002 - the interface has it
        """The last status by event time."""
        if not self._started:
            self._started = True
            mark("first")
        event = decode_event(record.value)
        before = read(record.key)
        if is_newer(event, before):
            after = status_of(event)
            outputs = self._answers(event, after=after, applied=True)
            return Folded("applied", {record.key: after}, outputs)
        return Folded("overtaken", {}, self._answers(event, after=before or event, applied=False))

    def encode(self, entry: Plain) -> bytes:
        """As Avro."""
        return encode_status(entry)

    def decode(self, value: bytes) -> Plain:
        """From Avro."""
        return decode_status(value)

    def _answers(self, event: Plain, *, after: Plain, applied: bool) -> tuple[Output, ...]:
        value = encode_answer(answer_to(event, after=after, applied=applied))
        return (Output(self._output, event["meeting_id"], value),)


def status_fold(arguments: Arguments) -> StatusFold:
    """The simple fold between the topics of the command line."""
    return StatusFold(source=arguments.source.removeprefix(PREFIX), output=arguments.output.removeprefix(PREFIX))


def work(fold: Fold[Any], arguments: Arguments, *, prefix: str = PREFIX, observer: Observer | None = None) -> int:
    """Run a worker with the product's default settings until SIGTERM; its exit code."""
    settings = Settings(
        kafka=KafkaSettings(bootstrap_servers=arguments.bootstrap_servers, topic_prefix=prefix),
        streams=StreamsSettings(data_dir=arguments.state_dir, app_id=arguments.app_id.removeprefix(prefix)),
        log=LogSettings(level="WARNING"),
    )
    clock = SystemClock()
    logs.configure(settings.log, role="streams", clock=clock)
    observer = observer or MetricsObserver(Metrics(), clock=clock)
    return asyncio.run(run(settings, [fold], clock=clock, observer=observer))


def main() -> int:
    """The simple fold."""
    arguments = read_arguments()
    return work(status_fold(arguments), arguments)


if __name__ == "__main__":
    sys.exit(main())
