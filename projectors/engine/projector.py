"""The loop of one projection: take records, write them, go on; hold when the world is away.

What each failure does: a bad record becomes a dead letter and the others go on; a database or broker that is away holds
the partitions, with backoff, as a live member of the group; a partition that another process moved is read again from
where that left it; an offset beyond the topic's end ends the process, since the topic is not the one that was read.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from threading import Event
from typing import Generic, TypeVar

from projectors.engine.observer import Observer
from projectors.engine.progress import Progress
from projectors.engine.slices import Written
from projectors.engine.source import Source, TopicUnknown
from projectors.engine.writer import Prepared, Writer
from runtime.backoff import Backoff
from runtime.clock import Clock
from runtime.kafka.ends import Range
from runtime.settings import ProjectorSettings
from schemas.errors import Broken, Unavailable

R = TypeVar("R")

LOOK_SECONDS = 5.0
"""How often the lag is asked for."""


class Projector(Generic[R]):
    """Runs one projection until it is told to stop."""

    def __init__(
        self,
        *,
        source: Source,
        writer: Writer[R],
        settings: ProjectorSettings,
        backoff: Backoff,
        observer: Observer,
        clock: Clock,
    ) -> None:
        """The parts, of which the projector closes the source and the writer when it ends."""
        self.progress = Progress(clock)
        self._source = source
        self._writer = writer
        self._settings = settings
        self._backoff = backoff
        self._observer = observer
        self._clock = clock
        self._next_look_seconds = 0.0
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="projector-writer")
        self._under_way: Future[Written] | None = None

    def run(self, stop: Event) -> None:
        """Project until `stop`; what is under way by then is written first.

        Raises:
            Misconfigured: a topic, table or right is missing.
            Broken: going on could do harm.
        """
        with self._source, closing(self._writer), self._executor:
            while not stop.is_set():
                self._step()
            self._finish()

    def _step(self) -> None:
        try:
            if self._source.reading:
                self._project()
            else:
                self._finish()
                self._start()
        except Unavailable as error:
            wait_seconds = self._backoff.next_seconds(at_least=error.retry_after_seconds or 0.0)
            self._observer.held(error, wait_seconds=wait_seconds)
            self._source.wait(wait_seconds)

    def _start(self) -> None:
        """Read on from the stored offsets. Failing here means that the database or the broker is away."""
        try:
            if not self._source.owned:
                self._source.wait(1.0)
                self.progress.made()
                return
            stored = self._writer.positions(self._source.owned)
            ends = self._source.ends()
        except Unavailable as error:
            self._excuse(error)
            raise
        for each, offset in stored.items():
            self._examine(each, offset=offset, ends=ends[each])
        self._source.start_from(stored, ends)
        self._observer.started(stored)

    def _examine(self, partition: int, *, offset: int, ends: Range) -> None:
        if offset > ends.end:
            raise Broken(
                f"projection of {self._source.topic}/{partition} stands at {offset}, its end is {ends.end}: "
                "this is another topic than the one that was read; see docs/topics.md"
            )
        if offset < ends.first:
            self._observer.expired(partition, offset=offset, first=ends.first)

    def _project(self) -> None:
        """Take and decode the next batch while the one before is being written, then let it follow."""
        slices = self._source.take(self._settings.batch_records, self._settings.batch_seconds)
        batch = self._writer.prepare(slices) if slices else None
        if batch is not None or (self._under_way is not None and self._under_way.done()):
            self._finish()
        if batch is not None and self._source.reading:
            self._source.settle(slices)
            self._under_way = self._executor.submit(self._write, batch)
        if self._clock.monotonic_seconds() >= self._next_look_seconds:
            self._look()

    def _write(self, batch: Prepared[R]) -> Written:
        with self._observer.writing(batch.slices) as seen:
            written = self._writer.write(batch)
            seen.append(written)
        return written

    def _finish(self) -> None:
        """Wait for the batch under way. If it failed, or was overtaken, what was taken after it is taken again."""
        if self._under_way is None:
            return
        under_way, self._under_way = self._under_way, None
        try:
            written = under_way.result()
        except BaseException:
            self._source.suspend()
            raise
        self._backoff.reset()
        self.progress.made()
        if written.overtaken:
            self._source.suspend()

    def _look(self) -> None:
        """Show how far behind we are; at the end of the topic, or without a broker, standing still is no stall."""
        self._next_look_seconds = self._clock.monotonic_seconds() + LOOK_SECONDS
        try:
            lag = self._source.lag()
            self._source.show_progress()
        except Unavailable as error:
            self._excuse(error)
            self._observer.broker_away(error)
            return
        self._observer.lag(lag)
        if self._under_way is None and not any(lag.values()):
            self.progress.made()

    def _excuse(self, error: Unavailable) -> None:
        """Time without a broker or a database is no stall; time with a broker that has no such topic is."""
        if not isinstance(error, TopicUnknown):
            self.progress.made()
