"""A lane's transactions, with a producer that only writes down what it is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from confluent_kafka import TopicPartition

from runtime.clock import Clock, SystemClock
from schemas.errors import Broken, Unavailable
from streams.engine.batch import Batch
from streams.engine.bookmark import Bookmark
from streams.engine.dead_letter_limit import DeadLetterLimit
from streams.engine.lane import OUTPUT_BYTES, Lane, LaneOptions
from streams.engine.lane_id import LaneId
from streams.engine.observer import Silent
from streams.engine.outbox import MANY
from streams.engine.overlay import Overlay
from streams.engine.pace import Pace
from streams.engine.producer import TransactionalProducer
from streams.engine.source import Source
from streams.engine.store import PartitionStore
from streams.fail_points import FailPoints
from streams.fold import Output
from tests.streams.counting import CountingFold
from tests.waiting import eventually

NOON = datetime(2027, 1, 1, 12, tzinfo=UTC)


class Raw(NamedTuple):
    """A record as aiokafka has it."""

    offset: int
    value: bytes | None
    key: bytes | None = b"k"
    timestamp: int = 1_780_000_000_000
    headers: Sequence[tuple[str, bytes]] = ()


class Delivered(NamedTuple):
    """What a delivery callback gets."""

    at: int

    def offset(self) -> int:
        """Its offset."""
        return self.at


@dataclass
class NotingProducer:
    """Stands for a transactional producer: what is committed stays, what is aborted is gone."""

    transactional_id: str = "lane"
    committed: list[list[tuple[str, Any]]] = field(default_factory=list)
    offsets: list[dict[str, int]] = field(default_factory=list)
    open: list[tuple[str, Any]] = field(default_factory=list)
    fail: list[Exception] = field(default_factory=list)
    """Raised by the next commits, one each."""
    aborts: int = 0
    closed: bool = False

    def begin(self) -> None:
        """A new transaction."""
        self.open = []

    def produce(self, topic: str, *, key: bytes | None, value: bytes | None, headers: Any = ()) -> None:
        """One record."""
        self.open.append((topic, value))

    def produce_batch(self, topic: str, messages: list[dict[str, Any]], *, partition: int = -1) -> None:
        """Many records."""
        for message in messages:
            self.open.append((topic, message["value"]))
            if "callback" in message:
                message["callback"](None, Delivered(len(self.committed)))

    def serve(self) -> None:
        """Nothing."""

    def commit(self, offsets: Sequence[TopicPartition], group_metadata: Any) -> None:
        """All of it, or the next failure."""
        if self.fail:
            raise self.fail.pop(0)
        self.committed.append(self.open)
        self.offsets.append({each.topic: each.offset for each in offsets})

    def abort(self) -> None:
        """None of it."""
        self.aborts += 1

    def close(self) -> None:
        """No more."""
        self.closed = True

    def outputs(self) -> list[int]:
        """The counts in committed outputs."""
        return [json.loads(value)["n"] for each in self.committed for topic, value in each if topic == "out-a"]


class Rig(NamedTuple):
    """A running lane with its surroundings."""

    lane: Lane
    task: asyncio.Task[None]
    producer: NotingProducer
    source: Source
    store: PartitionStore


@asynccontextmanager
async def rig(
    folder: Path, *, at: int = 0, fold: CountingFold | None = None, clock: Clock | None = None, **options: Any
) -> AsyncIterator[Rig]:
    """A lane that stands at offset `at`."""
    store = PartitionStore(folder / "a-0.db")
    counting = fold or CountingFold("a")
    source = Source(
        fold=counting,
        topic="in-a",
        changelog="a-changelog",
        partition=0,
        overlay=Overlay(fold=counting, store=store, bookmark=Bookmark(), cache_entries=10),
        position=at,
        bookmark=Bookmark(),
        limit=DeadLetterLimit(run=50, share=1.0, window=100),
    )
    producer = NotingProducer()
    given = {"transaction_events": 100, "pace": Pace(0.05), "backlog_records": 1_000, **options}
    with ThreadPoolExecutor(1) as executor:
        lane = Lane(
            LaneId(partitions=1, partition=0),
            sources=[source],
            producer=cast("TransactionalProducer", producer),
            group_metadata=None,
            options=LaneOptions(topic_prefix="", dead_letters="dead-letters", **given),
            executor=executor,
            clock=clock or SystemClock(),
            fail_points=FailPoints(None),
            observer=Silent(),
            room_made=lambda: None,
        )
        yield Rig(lane, lane.start(), producer, source, store)
        await lane.close()
        store.close()


def batch(first: int, count: int, value: Callable[[int], bytes | None] = lambda n: b'{"id": %d}' % n) -> Batch:
    """So many records from an offset on."""
    return Batch("in-a", 0, [Raw(number, value(number)) for number in range(first, first + count)])


async def test_a_transaction_holds_everything(tmp_path: Path) -> None:
    """Outputs, the changelog's records and the offset are committed together, then RocksDB has the entry."""
    async with rig(tmp_path) as it:
        it.lane.put(batch(0, 30))
        await eventually(lambda: it.producer.committed, what="a commit")
        topics = [topic for topic, _ in it.producer.committed[0]]
        assert topics == ["out-a"] * 30 + ["a-changelog"]
        assert it.producer.offsets == [{"in-a": 30}]
        await eventually(lambda: it.store.offset() == 0, what="RocksDB written")
        assert it.store.get(b"k") == it.producer.committed[0][-1][1]


async def test_a_transaction_is_bounded(tmp_path: Path) -> None:
    """What is more than a transaction takes goes into the next ones."""
    async with rig(tmp_path, pace=Pace(30.0), transaction_events=40) as it:
        for first in range(0, 200, 20):
            it.lane.put(batch(first, 20))
        await eventually(lambda: len(it.producer.committed) == 5, what="five transactions")
        assert [each["in-a"] for each in it.producer.offsets] == [40, 80, 120, 160, 200]


async def test_lanes_take_turns(tmp_path: Path) -> None:
    """While another lane folds nothing is folded; what came meanwhile goes into one transaction."""
    turn = asyncio.Lock()
    async with rig(tmp_path, turn=turn) as it:
        async with turn:
            for first in range(0, 40, 10):
                it.lane.put(batch(first, 10))
                await asyncio.wait({it.task}, timeout=0)
            assert (it.producer.open, it.producer.committed) == ([], [])
        await eventually(lambda: it.producer.committed, what="a commit")
        assert [each["in-a"] for each in it.producer.offsets] == [40]


async def test_lanes_commit_together(tmp_path: Path) -> None:
    """A lane that begins while others wait for more ends with them: their commits are one disturbance, not many."""
    pace = Pace(600.0)
    pace.end_of(SystemClock().monotonic_seconds() - 599.0)
    async with rig(tmp_path, pace=pace) as it:
        it.lane.put(batch(0, 5))
        await eventually(lambda: it.producer.offsets == [{"in-a": 5}], what="a commit long before its time is over")


async def test_few_outputs_wait_for_the_commit(tmp_path: Path) -> None:
    """The broker hears of a small transaction once, when it ends; many outputs go ahead of it."""
    async with rig(tmp_path, pace=Pace(60.0), transaction_events=1_000) as it:
        it.lane.put(batch(0, 10))
        await eventually(lambda: it.source.position == 10, what="folded")
        early = list(it.producer.open)
        it.lane.put(batch(10, MANY))
        await eventually(lambda: it.producer.open, what="outputs under way")
        assert (early, len(it.producer.open)) == ([], 10 + MANY)


async def test_an_abort_folds_again(tmp_path: Path) -> None:
    """Records of an aborted transaction are folded again from the same batches, and count once."""
    async with rig(tmp_path) as it:
        it.producer.fail = [Unavailable("lost"), Unavailable("lost again")]
        it.lane.put(batch(0, 5))
        it.lane.put(batch(5, 5))
        await eventually(lambda: len(it.producer.outputs()) == 10, what="all committed")
        assert it.producer.aborts == 2
        assert it.producer.outputs() == list(range(1, 11))


def committed_up_to(source: Source, offset: int) -> bool:
    """Whether all before the offset is committed."""
    return source.committed >= offset


async def test_a_clock_that_steps_back_and_forward_is_no_matter(tmp_path: Path) -> None:
    """Transactions end by the monotonic clock; the time of day is only told in dead letters."""

    class Stepping(SystemClock):
        def now(self) -> datetime:
            steps.append(steps[-1] * -2)
            return NOON + timedelta(hours=steps[-1])

    steps = [1]
    async with rig(tmp_path, clock=Stepping()) as it:
        for first in range(0, 40, 10):
            it.lane.put(batch(first, 10, lambda n: b'{"id": %d, "do": "%s"}' % (n, b"bad" if n % 5 == 0 else b"count")))
            await eventually(partial(committed_up_to, it.source, first + 10), what="a commit")
        assert it.producer.outputs() == list(range(1, 33))
        assert (
            sum(topic == "dead-letters" for each in it.producer.committed for topic, _ in each) == len(steps) - 1 == 8
        )


async def test_lost_records_end_the_worker(tmp_path: Path) -> None:
    """A gap in the offsets is told, and nothing from there on is committed."""
    async with rig(tmp_path, at=7) as it:
        it.lane.put(batch(9, 5))
        await asyncio.wait({it.task})
        assert str(it.task.exception()) == "in-a[0]: wanted offset 7, got 9: records were lost"
        assert it.producer.committed == []


async def test_records_that_come_again_are_passed_over(tmp_path: Path) -> None:
    """After a seek that went too far back, what was folded is not folded twice."""
    async with rig(tmp_path) as it:
        it.lane.put(batch(0, 10))
        it.lane.put(batch(4, 10))
        await eventually(lambda: len(it.producer.outputs()) == 14, what="all committed")
        assert it.producer.outputs() == list(range(1, 15))


async def test_a_bad_message_is_a_dead_letter_of_the_same_transaction(tmp_path: Path) -> None:
    """Bytes that are no event, no key, and no value each become a dead letter, and the rest goes on."""
    odd: dict[int, Raw] = {
        2: Raw(2, b"nonsense"),
        3: Raw(3, None),
        4: Raw(4, b'{"id": 4}', None),
        5: Raw(5, b'{"id": 5}', b"\xff"),
    }
    records = [odd.get(number, Raw(number, b'{"id": %d}' % number)) for number in range(8)]
    async with rig(tmp_path) as it:
        it.lane.put(Batch("in-a", 0, records))
        await eventually(lambda: it.producer.committed, what="a commit")
        dead = [value for topic, value in it.producer.committed[0] if topic == "dead-letters"]
        assert dead == [b"nonsense", None, b'{"id": 4}', b'{"id": 5}']
        assert it.producer.outputs() == [1, 2, 3, 4]


async def test_an_output_that_no_broker_takes_makes_its_message_bad(tmp_path: Path) -> None:
    """An output larger than the broker's limit would abort for ever: its message is a dead letter instead."""

    class LargeFold(CountingFold):
        def fold(self, record: Any, read: Any, *, generation: int) -> Any:
            folded = super().fold(record, read, generation=generation)
            large = Output(topic=self.sink, key="k", value=b"x" * (OUTPUT_BYTES + 1))
            return folded._replace(outputs=(large,)) if record.offset == 1 else folded

    async with rig(tmp_path, fold=LargeFold("a")) as it:
        it.lane.put(batch(0, 3))
        await eventually(lambda: it.producer.committed, what="a commit")
        assert it.producer.outputs() == [1, 2]
        assert [topic for topic, _ in it.producer.committed[0]].count("dead-letters") == 1


async def test_closing_commits_what_is_folded_and_drops_the_rest(tmp_path: Path) -> None:
    """A lane that closes does not wait for its transaction to fill, and folds nothing that has only arrived."""
    async with rig(tmp_path, pace=Pace(60.0), transaction_events=10) as it:
        it.lane.put(batch(0, 4))
        await eventually(lambda: it.source.position == 4, what="folded")
        await it.lane.close()
        it.lane.put(batch(4, 4))
        assert it.producer.offsets == [{"in-a": 4}]
        assert it.producer.closed


async def test_a_fold_with_a_fault_acknowledges_nothing(tmp_path: Path) -> None:
    """An error that is no BadMessage ends the lane; neither its record nor one before it is committed."""
    async with rig(tmp_path) as it:
        it.lane.put(batch(0, 5, lambda n: b'{"id": %d, "do": "%s"}' % (n, b"raise" if n == 3 else b"count")))
        await asyncio.wait({it.task})
        assert isinstance(it.task.exception(), ZeroDivisionError)
        assert it.source.position == 3
        assert it.producer.committed == []


async def test_state_that_cannot_be_read_ends_the_worker(tmp_path: Path) -> None:
    """A good record is no dead letter because of what lies in RocksDB: nothing is acknowledged, and the cure is named."""
    async with rig(tmp_path) as it:
        it.store.write([(b"k", b"damaged")], offset=0)
        it.lane.put(batch(0, 5))
        await eventually(lambda: it.task.done() or it.producer.committed, what="the end, or a commit")
        assert it.producer.committed == []
        with pytest.raises(Broken, match="rebuild-state"):
            it.task.result()


async def test_a_lane_takes_no_more_than_it_may_hold(tmp_path: Path) -> None:
    """A lane whose backlog is full has no room, so nothing more is fetched for it; folding makes room."""
    async with rig(tmp_path, backlog_records=10) as it:
        it.lane.put(batch(0, 10))
        assert not it.lane.has_room
        await eventually(lambda: it.lane.has_room, what="room")


async def test_an_unknown_commit_ends_the_worker(tmp_path: Path) -> None:
    """When it is unknown whether a transaction was committed, folding again might count it twice."""
    async with rig(tmp_path) as it:
        it.producer.fail = [Broken("whether it committed is unknown")]
        it.lane.put(batch(0, 5))
        await asyncio.wait({it.task})
        with pytest.raises(Broken):
            it.task.result()
        assert it.producer.aborts == 0
