"""Faust's own classes under the engine: each override, in the sequence that goes wrong without it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, Message

from schemas.errors import Broken
from streams.engine.batch import Batch
from streams.engine.restore import Stopped
from streams.engine.transport import FETCHES_APART_SECONDS, Producer, Transport
from tests.stack import Stack
from tests.streams.unstarted import Fetched, OpenLane, Unstarted, fetched, unstarted
from tests.waiting import eventually


@pytest.fixture
async def it(stack: Stack, tmp_path: Path) -> AsyncIterator[Unstarted]:
    """A worker's app that is not started."""
    made = unstarted(stack.settings, tmp_path)
    yield made
    made.app.bookkeeper.close()
    made.app.executor.shutdown()


async def messages(it: Unstarted) -> list[tuple[TP, Message]]:
    """What one fetch hands on."""
    it.consumer.resume_flow()
    return [found async for found in it.consumer.getmany(0.01)]


async def test_a_fetch_is_one_event_per_partition(it: Unstarted) -> None:
    """All records of a partition come as one batch, with the offset of the last: Faust would hand on each by itself."""
    it.give(OpenLane(), OpenLane())
    it.thread.fetches = [{it.tp(0): fetched(5, 3), it.tp(1): fetched(0, 1)}]
    found: list[Any] = [(tp, message.offset, message.value) for tp, message in await messages(it)]
    wanted = [(it.tp(0), 7, fetched(5, 3)), (it.tp(1), 0, fetched(0, 1))]
    assert found == [(tp, offset, Batch(tp.topic, tp.partition, records)) for tp, offset, records in wanted]


async def test_a_batch_reaches_the_agent_as_it_is(it: Unstarted) -> None:
    """Faust decodes before an agent sees anything, and acknowledges what it cannot decode: here the fold decodes."""
    it.give(OpenLane())
    it.thread.fetches = [{it.tp(0): [Fetched(0, b"no JSON")]}]
    [(_, message)] = await messages(it)
    channel = next(iter(it.app.agents.values())).channel
    event = await channel.decode(message, propagate=True)
    assert event.value == Batch(it.tp(0).topic, 0, [Fetched(0, b"no JSON")])


async def test_nothing_is_fetched_for_a_lane_without_room(it: Unstarted) -> None:
    """A lane that is behind holds up its own partition, and memory stays bounded; the others go on."""
    it.give(OpenLane(has_room=False), OpenLane())
    it.thread.fetches = [{it.tp(0): fetched(0, 1), it.tp(1): fetched(0, 1)}]
    found = [tp for tp, _ in await messages(it)]
    it.give(OpenLane(has_room=False))
    assert (found, await messages(it), it.thread.asked) == ([it.tp(1)], [], [("getmany", {it.tp(1)})])


async def test_fetches_keep_their_distance(it: Unstarted) -> None:
    """Records that come one by one are fetched together: a fetch for each would keep worker and broker busy."""
    it.give(OpenLane())
    it.thread.fetches = [{it.tp(0): fetched(offset, 1)} for offset in range(3)]
    began = it.app.clock.monotonic_seconds()
    for _ in range(3):
        await messages(it)
    assert it.app.clock.monotonic_seconds() - began >= 2 * FETCHES_APART_SECONDS


async def test_the_way_between_two_batches_is_no_gap(it: Unstarted) -> None:
    """Faust notes each offset that it did not see; between the last records of two batches lie the records of one."""
    it.give(OpenLane())
    it.thread.fetches = [{it.tp(0): fetched(0, 10)}, {it.tp(0): fetched(10, 500)}]
    seen: list[int] = []

    async def take(message: Message) -> None:
        seen.append(message.offset)
        if len(seen) == 2:
            it.consumer._stopped.set()

    it.consumer.callback = take
    it.consumer._read_offset[it.tp(0)] = None
    it.consumer.resume_flow()
    await asyncio.wait_for(it.consumer._drain_messages(it.app._fetcher), 60)
    assert (seen, dict(it.consumer._gap)) == ([9, 509], {})


async def test_what_an_agent_acknowledges_is_not_committed(it: Unstarted) -> None:
    """Offsets belong to transactions: neither an acknowledgement nor Faust's own commit may move them."""
    it.give(OpenLane())
    it.thread.fetches = [{it.tp(0): fetched(0, 1)}, {it.tp(0): fetched(1, 1)}]
    [(_, ours)] = await messages(it)
    [(_, theirs)] = await messages(it)
    it.consumer.track_message(ours)
    it.consumer.ack(ours)
    kept = dict(it.consumer._acked)
    it.consumer._committed_offset[it.tp(0)] = 0
    driver.Consumer.ack(it.consumer, theirs)
    await it.consumer.commit()
    assert (ours.acked, list(it.consumer._unacked_messages), kept) == (True, [], {})
    assert "commit" not in [name for name, _ in it.thread.asked]


async def test_a_fetch_that_comes_back_after_the_flow_was_stopped_moves_nothing(it: Unstarted) -> None:
    """Faust then seeks to what is committed, which is an old offset while another owner's transaction is open."""
    it.give(OpenLane())
    it.thread.fetches = [{it.tp(0): fetched(0, 1)}]
    it.thread.meanwhile = it.consumer.stop_flow
    assert await messages(it) == []
    assert [name for name, _ in it.thread.asked] == ["getmany"]


async def test_faust_s_own_look_at_progress_is_not_used(it: Unstarted) -> None:
    """It judges by offsets that Faust commits, of which there are none; the watchdog looks."""
    it.consumer.verify_event_path(0.0, it.tp(0))
    assert it.thread.asked == []


@pytest.mark.parametrize("event", ["revoked", "stopped"])
async def test_partitions_are_let_go_of_before_anybody_else_gets_them(it: Unstarted, event: str) -> None:
    """What is folded is committed, and the flow stopped, before a rebalance or a stop goes on."""
    order: list[str] = []
    it.consumer.resume_flow()

    async def rebalance(_revoked: set[TP]) -> None:
        order.append("the rebalance goes on")

    def close() -> None:
        order.append(f"lanes closed, flow {'on' if it.consumer.flow_active else 'off'}")

    it.consumer._on_partitions_revoked = rebalance
    it.give(OpenLane(on_close=close))
    if event == "revoked":
        await it.consumer.on_partitions_revoked({it.tp(0)})
    else:
        await it.app._consumer_wait_empty(it.consumer, it.app.log)
    assert order[:2] == ["lanes closed, flow off", *(["the rebalance goes on"] if event == "revoked" else [])]
    assert it.app.lanes.with_room({it.tp(0)}) == set()


async def test_records_flow_only_after_the_seek(it: Unstarted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faust resumes before its seek is through and then clears every queue, which loses records: the seek comes first."""
    it.give(OpenLane(sources={it.tp(0).topic: Committed(41)}))
    it.thread.assigned = {it.tp(0), it.tp(1)}
    it.app.stop_flow()
    monkeypatch.setattr(it.app._fetcher, "maybe_start", nothing)
    flowing: list[bool] = []
    it.thread.meanwhile = lambda: flowing.append(it.consumer.flow_active or it.app.flow_control.is_active())
    await it.app.begin({it.tp(0)})
    assert flowing == [False]
    assert it.consumer.flow_active
    assert it.app.flow_control.is_active()
    assert it.thread.asked == [("pause", {it.tp(1)}), ("seek", {it.tp(0): 41})]


async def test_nothing_leaves_by_faust_s_producer(it: Unstarted) -> None:
    """An output that an agent sent would be outside of its transaction; a topic that it made would have any shape."""
    assert isinstance(it.app.producer, Producer)
    assert isinstance(it.app._new_producer_transport(), Transport)
    for send in (it.app.producer.send, it.app.producer.send_and_wait):
        with pytest.raises(Broken, match="outputs belong to a lane's transaction"):
            await send("t", b"k", b"v", None, None, None)
    await it.app.producer.create_topic("t", 1, 1)


async def test_an_agent_that_fails_ends_the_worker(it: Unstarted) -> None:
    """Faust acknowledges the message of an agent that raised, and hands it the next one."""
    agent = next(iter(it.app.agents.values()))
    fault = ZeroDivisionError("the agent has a fault")
    await agent._on_error(agent, fault)
    assert it.app.lanes.reason is fault
    assert it.app.lanes.failed.is_set()


async def test_a_rebalance_does_not_wait_for_its_take_over(it: Unstarted, monkeypatch: pytest.MonkeyPatch) -> None:
    """No heartbeat is sent while a rebalance's callback runs, so a long restore would cost the membership."""
    go = threading.Event()
    monkeypatch.setattr(it.app, "take_over", lambda _sources, _stop: [] if go.wait(60) else None)
    monkeypatch.setattr(it.app, "begin", nothing)
    await asyncio.wait_for(rebalance(it, generation=0), 30)
    waited = not it.recovery.completed.is_set()
    go.set()
    await eventually(it.recovery.completed.is_set, what="the take-over")
    assert waited


async def test_a_further_rebalance_ends_a_take_over(it: Unstarted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its work would be for partitions that are somebody else's by now: it stops, and only the last one begins."""
    begun: list[set[TP]] = []
    stopped: list[set[TP]] = []
    under_way = threading.Event()

    def take_over(sources: set[TP], stop: threading.Event) -> list[Any]:
        if sources == {it.tp(0)}:
            under_way.set()
            assert stop.wait(60)
            stopped.append(sources)
            raise Stopped
        return []

    async def begin(sources: set[TP]) -> None:
        begun.append(sources)

    monkeypatch.setattr(it.app, "take_over", take_over)
    monkeypatch.setattr(it.app, "begin", begin)
    await rebalance(it, generation=0, partition=0)
    await eventually(under_way.is_set, what="the first take-over")
    await rebalance(it, generation=0, partition=1)
    await eventually(lambda: begun, what="the second take-over")
    assert (stopped, begun) == ([{it.tp(0)}], [{it.tp(1)}])


async def test_a_stop_ends_a_take_over(it: Unstarted, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore may take minutes, and a worker that is told to stop has seconds."""
    under_way, told = threading.Event(), threading.Event()

    def take_over(_sources: set[TP], stop: threading.Event) -> list[Any]:
        under_way.set()
        assert stop.wait(60)
        told.set()
        raise Stopped

    monkeypatch.setattr(it.app, "take_over", take_over)
    recovery = it.recovery
    await recovery.start()
    await rebalance(it, generation=0)
    await eventually(under_way.is_set, what="the take-over")
    await recovery.stop()
    assert told.is_set()


async def test_a_take_over_for_an_older_generation_is_given_back(
    it: Unstarted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group has moved on while it ran: its lanes are freed and nothing flows."""
    freed: list[list[str]] = []

    async def let_go(taken: list[str]) -> None:
        freed.append(taken)

    monkeypatch.setattr(it.app, "take_over", lambda _sources, _stop: ["a lane"])
    monkeypatch.setattr(it.app, "let_go", let_go)
    await rebalance(it, generation=it.app.consumer_generation_id - 1)
    await eventually(lambda: freed, what="the lanes given back")
    assert not it.recovery.completed.is_set()


async def test_a_take_over_that_fails_ends_the_worker(it: Unstarted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faust's recovery may die without a word, and nothing is processed any more."""

    def take_over(_sources: set[TP], _stop: threading.Event) -> list[Any]:
        raise Broken("the disk fails")

    monkeypatch.setattr(it.app, "take_over", take_over)
    await rebalance(it, generation=0)
    await eventually(it.app.lanes.failed.is_set, what="the end")
    assert str(it.app.lanes.reason) == "the disk fails"


async def test_faust_s_recovery_does_nothing(it: Unstarted) -> None:
    """It would read changelogs that another owner may still write, seek, and clear the queues of records that flow."""
    recovery = it.recovery
    queue = it.app.FlowControlQueue(maxsize=1)
    it.app.flow_control.resume()
    queue.put_nowait("a batch")
    await recovery.start()
    recovery.signal_recovery_start.set()
    await eventually(lambda: all(task.done() for task in recovery._futures), what="the end of its tasks")
    assert (queue.qsize(), it.thread.asked, recovery.signal_recovery_start.is_set()) == (1, [], True)
    await recovery.stop()


async def test_a_table_is_written_by_transactions_alone(it: Unstarted) -> None:
    """What an agent put into a table would be in RocksDB before it is committed."""
    store = it.app.folds[0].table.store
    with pytest.raises(Broken, match="by transactions alone"):
        store._set(b"k", b"v")
    with pytest.raises(Broken, match="by transactions alone"):
        store._del(b"k")


async def test_databases_are_opened_and_closed_by_the_take_over(it: Unstarted) -> None:
    """Faust would open them in the rebalance's callback, and leave those open that another process may need."""
    store = it.app.folds[0].table.store
    given = {TP(it.app.folds[0].changelog, 0)}
    await store.on_rebalance(given, set(), given)
    opened = store._path(0).exists()
    store.open(0).write((), offset=41)
    persisted = store.persisted_offset(TP(it.app.folds[0].changelog, 0))
    store.open(1)
    store.close_except({1})
    kept = set(store.partitions)
    await store.stop()
    assert (opened, persisted, kept, store.partitions) == (False, 41, {1}, {})


class Committed:
    """Stands for a source of a lane that has been taken over."""

    def __init__(self, offset: int) -> None:
        """Committed up to this offset."""
        self.committed = offset


async def rebalance(it: Unstarted, *, generation: int, partition: int = 0) -> None:
    """The group gives this worker a partition."""
    tp = it.tp(partition)
    await it.recovery.on_rebalance({tp}, set(), {tp}, generation)


async def nothing(*_: object) -> None:
    """Nothing."""
