"""A worker's app that is not started, with a stand-in for the one thread in which Faust keeps aiokafka."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from faust.types import TP

from runtime.clock import SystemClock
from runtime.settings import Settings
from streams.app import create_app, topics_of
from streams.engine.app import App
from streams.engine.lane import Lane
from streams.engine.recovery import Recovery, TableManager
from streams.engine.transport import Consumer
from tests.streams.counting import CountingFold

PARTITIONS = 2


class Fetched(NamedTuple):
    """A record as aiokafka fetches it."""

    offset: int
    value: bytes = b"{}"
    key: bytes = b"k"
    timestamp: int = 1_780_000_000_000
    timestamp_type: int = 0
    headers: Sequence[tuple[str, bytes]] = ()


def fetched(first: int, count: int) -> list[Fetched]:
    """So many records from an offset on."""
    return [Fetched(offset) for offset in range(first, first + count)]


@dataclass
class FetchingThread:
    """Stands for the thread of aiokafka's consumer: hands out fetches, and writes down what else it is asked."""

    fetches: list[dict[TP, list[Fetched]]] = field(default_factory=list)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    assigned: set[TP] = field(default_factory=set)
    meanwhile: Callable[[], None] = lambda: None
    """Happens while a fetch or a seek is under way."""

    async def getmany(self, partitions: set[TP], timeout: float) -> dict[TP, list[Fetched]]:  # noqa: ASYNC109 - aiokafka's
        """The next fetch, of the wanted partitions."""
        self.asked.append(("getmany", partitions))
        self.meanwhile()
        found = self.fetches.pop(0) if self.fetches else {}
        return {tp: records for tp, records in found.items() if tp in partitions}

    async def seek_wait(self, offsets: Mapping[TP, int]) -> None:
        """A seek."""
        self.meanwhile()
        self.asked.append(("seek", dict(offsets)))

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """A seek to whatever is committed; behind an open transaction that is an old offset."""
        self.asked.append(("seek to committed", None))
        return {}

    async def commit(self, offsets: Mapping[TP, int]) -> bool:
        """A commit outside every transaction."""
        self.asked.append(("commit", dict(offsets)))
        return True

    async def call_thread(self, _method: Callable[..., Any], partitions: set[TP]) -> None:
        """A call in the thread: the engine pauses partitions so."""
        self.asked.append(("pause", set(partitions)))

    def highwater(self, _tp: TP) -> int:
        """The end of a partition."""
        return 0

    def assignment(self) -> set[TP]:
        """What the group has given."""
        return self.assigned


@dataclass(eq=False)
class OpenLane:
    """Stands for a lane: has room or not, and writes down when it is closed."""

    has_room: bool = True
    on_close: Callable[[], None] = lambda: None
    sources: Mapping[str, Any] = field(default_factory=dict)
    committing_since: float | None = None

    async def close(self) -> None:
        """Committed what was folded."""
        self.on_close()


@dataclass(frozen=True)
class Unstarted:
    """The app and what surrounds it."""

    app: App
    thread: FetchingThread

    @property
    def consumer(self) -> Consumer:
        """Faust's consumer with our overrides."""
        return cast("Consumer", self.app.consumer)

    @property
    def recovery(self) -> Recovery:
        """The recovery that the table manager uses."""
        return cast("TableManager", self.app.tables).recovery

    def tp(self, partition: int) -> TP:
        """A partition of the source."""
        return TP(self.app.folds[0].source, partition)

    def give(self, *lanes: OpenLane) -> None:
        """Lanes for the first partitions, which are assigned and active."""
        given = {self.tp(number): cast("Lane", lane) for number, lane in enumerate(lanes)}
        self.app.lanes._lanes = given
        self.thread.assigned = set(given)
        self.consumer._set_active_tps(set(given))
        cast("Any", self.app.topics)._acking_topics.add(self.app.folds[0].source)


def unstarted(settings: Settings, folder: Path) -> Unstarted:
    """An app with one counting fold. Make it in a running event loop."""
    streams = settings.streams.model_copy(update={"data_dir": folder})
    folds = [CountingFold("a")]
    own = settings.model_copy(update={"streams": streams})
    app = create_app(own, folds, partitions=dict.fromkeys(topics_of(own, folds), PARTITIONS), clock=SystemClock())
    thread = FetchingThread()
    cast("Any", app.consumer)._thread = thread
    return Unstarted(app=app, thread=thread)
