"""The bulk restore on the tails at which Faust's own recovery hung."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from faust.types import TP

from runtime.kafka.config import admin_config, producer_config
from runtime.settings import Settings
from schemas.errors import Broken
from streams.engine.observer import Silent
from streams.engine.restore import BulkRestore, Target
from streams.engine.store import PartitionStore, wipe
from streams.fail_points import FailPoints
from tests.waiting import wait_for

TAILS = ("values", "tombstones", "aborted", "open", "empty")
"""What each partition of the changelog ends in, by its number."""


def test_every_tail_has_an_end(settings: Settings, tmp_path: Path) -> None:
    """Commit markers, tombstones, aborted and open transactions at the end, and nothing at all: each restore ends."""
    topic = f"{settings.kafka.topic_prefix}changelog"
    _create(settings, topic, partitions=len(TAILS))
    still_open = _fill(settings, topic)
    stores = [PartitionStore(tmp_path / f"t-{number}.db") for number in range(len(TAILS))]
    assert _restore(settings, topic, stores) == 19
    held = {tail: dict(store.items()) for tail, store in zip(TAILS, stores, strict=True)}
    kept = {b"k%d" % number: b"v" for number in range(4)}
    assert held == {"values": kept, "tombstones": {b"k3": b"v"}, "aborted": kept, "open": kept, "empty": {}}
    assert _restore(settings, topic, stores) == 0
    assert (stores[0].offset(), stores[4].offset()) == (4, None)
    still_open.abort_transaction(30)
    for store in stores:
        store.close()


def test_a_compacted_changelog_has_an_end(settings: Settings, tmp_path: Path) -> None:
    """Compaction leaves holes between the offsets and takes whole transactions out: the restore ends, with the newest values."""
    topic = f"{settings.kafka.topic_prefix}compacted"
    _create(settings, topic, partitions=1, **{"min.cleanable.dirty.ratio": "0", "segment.ms": "1"})
    for number in range(12):
        producer = _begin(settings, f"round-{number}")
        for key in ("same", f"own-{number}"):
            producer.produce(topic, b"%d" % number, key)
        producer.commit_transaction(60)
    wait_for(lambda: _restored_anew(settings, topic, tmp_path) < 20, what="the compaction")
    store = PartitionStore(tmp_path / "t-0.db")
    assert _restore(settings, topic, [store]) < 20
    assert dict(store.items()) == {b"same": b"11", **{b"own-%d" % number: b"%d" % number for number in range(12)}}
    assert store.offset() == 12 * 3 - 1
    store.close()


def test_a_state_of_another_cluster_is_refused(settings: Settings, tmp_path: Path) -> None:
    """A database that is ahead of its changelog belongs elsewhere: the worker says which, and what to do."""
    topic = f"{settings.kafka.topic_prefix}changelog"
    _create(settings, topic, partitions=1)
    store = PartitionStore(tmp_path / "t-0.db")
    store.write([(b"k", b"v")], offset=99)
    with pytest.raises(Broken, match=r"goes to offset 99 of .*changelog, which ends at 0: .* rebuild-state"):
        _restore(settings, topic, [store])
    store.close()


def _create(settings: Settings, topic: str, *, partitions: int, **config: str) -> None:
    admin = AdminClient(dict(admin_config(settings.kafka, client_id="tests")))
    new = NewTopic(topic, partitions, 1, config={"cleanup.policy": "compact", **config})
    admin.create_topics([new])[topic].result(timeout=90)


def _restored_anew(settings: Settings, topic: str, folder: Path) -> int:
    """How many records a restore on an empty disk takes."""
    store = PartitionStore(folder / "look.db")
    try:
        return _restore(settings, topic, [store])
    finally:
        store.close()
        wipe(store.path)


def _fill(settings: Settings, topic: str) -> Producer:
    """Four values in every partition but the last, then its tail; the producer whose transaction is still open."""
    for number in range(4):
        with_values = _begin(settings, f"values-{number}")
        for key in range(4):
            with_values.produce(topic, b"v", b"k%d" % key, number)
        with_values.commit_transaction(60)
    tombstones = _begin(settings, "tombstones")
    for key in range(3):
        tombstones.produce(topic, None, b"k%d" % key, TAILS.index("tombstones"))
    tombstones.commit_transaction(60)
    aborted = _begin(settings, "aborted")
    aborted.produce(topic, b"never", b"k0", TAILS.index("aborted"))
    aborted.flush(60)
    aborted.abort_transaction(60)
    still_open = _begin(settings, "open")
    still_open.produce(topic, b"not yet", b"k0", TAILS.index("open"))
    still_open.flush(60)
    return still_open


def _begin(settings: Settings, name: str) -> Producer:
    config = producer_config(settings.kafka, client_id="tests", timeout_seconds=60.0)
    producer = Producer({**config, "transactional.id": f"{settings.kafka.topic_prefix}{name}"})
    producer.init_transactions(60)
    producer.begin_transaction()
    return producer


def _restore(settings: Settings, topic: str, stores: list[PartitionStore]) -> int:
    restore = BulkRestore(
        settings.kafka,
        client_id="tests-restore",
        stop=threading.Event(),
        observer=Silent(),
        fail_points=FailPoints(None),
    )
    return restore.run([Target(TP(topic, number), "t", store) for number, store in enumerate(stores)])
