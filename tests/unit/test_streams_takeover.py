"""The order of a take-over, which is what makes it safe, and its patience."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from faust.types import TP

from runtime.settings import KafkaSettings, StreamsSettings
from schemas.errors import Broken, Unavailable
from streams.engine.bookkeeper import Bookkeeper, Committed
from streams.engine.bookmark import Bookmark
from streams.engine.lane_id import LaneId
from streams.engine.observer import Silent
from streams.engine.producer import TransactionalProducer
from streams.engine.restore import Stopped
from streams.engine.takeover import FoldTopics, Takeover
from streams.fail_points import FailPoints
from tests.streams.counting import CountingFold


class Bookkeeping:
    """Stands for the bookkeeper: an offset for everybody."""

    def __init__(self, steps: list[str], *, fail: Sequence[Exception] = ()) -> None:
        """Fails first, once with each."""
        self._steps = steps
        self._fail = list(fail)

    def committed(self, partitions: set[TP]) -> dict[TP, Committed]:
        """Where to begin."""
        if self._fail:
            raise self._fail.pop(0)
        self._steps.append("committed offsets")
        return {tp: Committed(7, Bookmark()) for tp in partitions}

    def group_metadata(self) -> None:
        """None."""


class Lock:
    """Stands for a fenced producer, the lock of a lane."""

    def __init__(self) -> None:
        """Held."""
        self.closed = False

    def close(self) -> None:
        """Let go."""
        self.closed = True


class Noted(Takeover):
    """A take-over that writes down its steps."""

    steps: list[str]
    locks: list[Lock]
    restoring: Callable[[], None] = staticmethod(lambda: None)

    def _fenced(self, lane: LaneId) -> TransactionalProducer:
        self.steps.append("fence")
        self.locks.append(Lock())
        return cast("TransactionalProducer", self.locks[-1])

    def _open(self, topics: FoldTopics, partition: int) -> Any:
        self.steps.append("open")

    def _restore(self, stores: Any) -> None:
        self.steps.append("restore")
        self.restoring()


def takeover(*, fail: Sequence[Exception] = (), stop: threading.Event | None = None) -> Noted:
    """A take-over of a table with two partitions."""
    steps: list[str] = []
    topics = FoldTopics(
        fold=CountingFold("a"), source="in-a", changelog="a-changelog", partitions=2, table=cast("Any", None)
    )
    made = Noted(
        folds=[topics],
        kafka=KafkaSettings(),
        settings=StreamsSettings(),
        bookkeeper=cast("Bookkeeper", Bookkeeping(steps, fail=fail)),
        observer=Silent(),
        fail_points=FailPoints(None),
        stop=stop or threading.Event(),
    )
    made.steps, made.locks = steps, []
    return made


def test_the_fence_comes_first_and_the_offsets_last() -> None:
    """Whoever had the partition can write no more when its changelog is read, and none moves the offsets that are read last."""
    it = takeover()
    [lane] = it.run({TP("in-a", 1)})
    assert it.steps == ["fence", "open", "restore", "committed offsets"]
    assert lane.sources[0].position == 7
    assert lane.producer is cast("Any", it.locks[0])


def test_every_assignment_is_fenced_anew() -> None:
    """A partition that was kept may have been somebody else's in between, and his transaction may still be open."""
    it = takeover()
    first, second = it.run({TP("in-a", 0)}), it.run({TP("in-a", 0)})
    assert first[0].producer is not second[0].producer


def test_what_is_unavailable_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faust's recovery ends for good on a mere time-out; a coordinator that has moved is asked again."""
    monkeypatch.setattr("streams.engine.takeover.PAUSE_SECONDS", 0.01)
    it = takeover(fail=[Unavailable("NOT_COORDINATOR"), Unavailable("timed out")])
    assert [lane.sources[0].position for lane in it.run({TP("in-a", 0)})] == [7]
    assert it.steps.count("restore") == 1


def test_a_coordinator_that_has_moved_is_unavailable() -> None:
    """While a broker restarts, committed offsets may be refused: that is an outage."""
    bookkeeper = Bookkeeper(KafkaSettings(bootstrap_servers="127.0.0.1:1"), group="tests")
    bookkeeper.close()

    class Moved:
        def committed(self, *_: object) -> None:
            raise KafkaException(KafkaError(KafkaError.NOT_COORDINATOR, "moved"))

    bookkeeper._client = cast("Any", Moved())
    with pytest.raises(Unavailable):
        bookkeeper.committed([TP("in-a", 0)])


def test_a_take_over_that_became_void_frees_its_locks() -> None:
    """A further rebalance stops it between two steps, and nothing that it fenced stays held."""
    stop = threading.Event()
    it = takeover(stop=stop)
    it.restoring = stop.set
    with pytest.raises(Stopped):
        it.run({TP("in-a", 0), TP("in-a", 1)})
    assert [lock.closed for lock in it.locks] == [True, True]


def test_partitions_of_two_tables_come_together() -> None:
    """A lane commits for all sources with its number: half of it would leave the other half to nobody."""
    it = takeover()
    it._folds = [
        FoldTopics(fold=CountingFold(name), source=f"in-{name}", changelog=name, partitions=2, table=cast("Any", None))
        for name in ("a", "b")
    ]
    with pytest.raises(Broken, match="partition 0 was assigned without that of in-b"):
        it.run({TP("in-a", 0)})
