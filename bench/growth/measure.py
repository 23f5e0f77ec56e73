"""A worker that is stopped and started again on the same disk: once to restore the table, then once for each round."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.broker import Broker
from bench.dlq.letters import murmur2
from bench.growth.cases import Case
from bench.process import MeasuredProcess
from bench.room_events import Record
from bench.streams.measure import ROOT
from bench.streams.sides import Where
from bench.watch import Watch
from runtime.environment import environment_for_children
from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS, ROOM_EVENTS, ZOOM_EVENTS
from schemas.errors import Broken
from streams.rooms.fold import RoomsFold

_START_SECONDS = 300.0
_LONGEST_SECONDS = 3_600.0


@dataclass(slots=True, kw_only=True)
class Grown:
    """A case with its topics, its disk and its worker's name."""

    case: Case
    broker: Broker
    where: Where
    outputs: int = 0
    """How many there must be by now: each timed event has one."""

    def make(self) -> None:
        """Write the table's changelog, each entry where its room's events will be."""
        partitions = self.where.partitions
        records = (
            ((murmur2(room.encode()) & 0x7FFFFFFF) % partitions, key, value) for room, key, value in self.case.table()
        )
        self.broker.place(_changelog(self.where), records)

    def fold(self, records: Iterator[Record]) -> float:
        """Feed the records to a worker that is down, start it, and say how many events a second it folded.

        Raises:
            Broken: it failed, stood still, or an output is missing.
        """
        visible = self._visible()
        count = self.broker.fill(self.where.source, records)
        self.outputs += count
        command = [sys.executable, "-m", "bench.streams.own_fold", *self.where.arguments()]
        env = {**environment_for_children(Settings()), "PYTHONPATH": str(ROOT)}
        with MeasuredProcess(command, env=env, cwd=self.where.state_dir) as process:
            began = process.wait_for_mark("first", within_seconds=_START_SECONDS)
            watch = Watch(self.broker, topic=self.where.output, records=visible + count)
            ended = process.wait_until(watch.ended, what="its last output", within_seconds=_LONGEST_SECONDS)
        return count / (ended - began)

    def check(self) -> None:
        """Every event has its outputs.

        Raises:
            Broken: some are missing, or there are too many.
        """
        found = sum(1 for _ in self.broker.messages(self.where.output))
        if found != self.outputs:
            raise Broken(f"{self.case.name}: {found} outputs, not {self.outputs}")

    def _visible(self) -> int:
        return sum(self.broker.stable_offsets(self.where.output).values())


def grown(case: Case, *, broker: Broker, folder: Path, partitions: int) -> Grown:
    """The case, with empty topics."""
    prefix = f"bench-{case.name.replace('_', '-')}-"
    where = Where(
        bootstrap_servers=broker.bootstrap_servers,
        app_id=f"{prefix}app",
        source=prefix + ZOOM_EVENTS,
        output=prefix + ROOM_EVENTS,
        state_dir=folder / case.name,
        partitions=partitions,
    )
    where.state_dir.mkdir()
    broker.create(prefix + DEAD_LETTERS, partitions=1)
    broker.create(where.source, partitions=partitions)
    broker.create(where.output, partitions=partitions)
    broker.create(_changelog(where), partitions=partitions, config={"cleanup.policy": "compact"})
    return Grown(case=case, broker=broker, where=where)


def _changelog(where: Where) -> str:
    return f"{where.app_id}-{RoomsFold.table}-changelog"
