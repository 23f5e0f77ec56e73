"""Bulk restore: the changelog's records since the persisted offset into RocksDB, in large batches.

Runs in a thread, before any record of a source topic flows, and after the fence: nobody can write to these changelog
partitions meanwhile. A transactional log ends in control records that are never delivered, so the end of a partition is
what the client says it is, and the offset persisted is the one before that end.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from faust.types import TP

from runtime.kafka.config import consumer_config
from runtime.kafka.errors import error_log, translate, translate_exception
from runtime.settings import KafkaSettings
from schemas.errors import Broken
from streams.engine.bookkeeper import stable_ends
from streams.engine.observer import Observer
from streams.engine.store import PartitionStore
from streams.fail_points import FailPoints

BATCH_RECORDS = 10_000
POLL_SECONDS = 0.5
QUEUE_KILOBYTES = 16 * 1024
"""Fetched and not yet written: with the write buffers, all the memory that a restore takes."""


class Target(NamedTuple):
    """A changelog partition, and where it goes."""

    tp: TP
    table: str
    store: PartitionStore


class Stopped(Exception):
    """The restore was told to stop; what is written stays and is a prefix of the changelog."""


class BulkRestore:
    """Restores partitions of changelogs, once."""

    def __init__(
        self,
        kafka: KafkaSettings,
        *,
        client_id: str,
        stop: threading.Event,
        observer: Observer,
        fail_points: FailPoints,
    ) -> None:
        """`stop` ends a restore between two batches."""
        self._kafka = kafka
        self._config = {
            **consumer_config(kafka, client_id=client_id, group=client_id),
            "enable.partition.eof": True,
            "queued.max.messages.kbytes": QUEUE_KILOBYTES,
            "error_cb": error_log(client_id),
        }
        self._stop = stop
        self._observer = observer
        self._fail_points = fail_points

    def run(self, targets: Sequence[Target]) -> int:
        """Bring the stores to the ends of their changelog partitions; how many records that took. Blocks.

        Raises:
            Stopped: as told.
            Unavailable: the broker failed; call again to go on from there.
            Broken: a store is ahead of its changelog, or the disk fails.
        """
        ends = stable_ends(self._kafka, [target.tp for target in targets])
        client = Consumer(self._config)
        try:
            return self._run(client, {target.tp: target for target in targets}, ends)
        except KafkaException as error:
            raise translate_exception(error, doing="restore") from error
        finally:
            client.close()

    def _run(self, client: Consumer, targets: Mapping[TP, Target], ends: Mapping[TP, int]) -> int:
        starts = {tp: _start(target, end=ends[tp]) for tp, target in targets.items()}
        behind = {tp for tp in targets if starts[tp] < ends[tp]}
        client.assign([TopicPartition(tp.topic, tp.partition, starts[tp]) for tp in behind])
        restored = 0
        while behind:
            if self._stop.is_set():
                raise Stopped
            batches, reached = _sort(client.consume(BATCH_RECORDS, POLL_SECONDS))
            for tp, messages in batches.items():
                restored += self._write(targets[tp], messages, end=ends[tp])
            for tp, offset in reached.items():
                if tp in behind and offset >= ends[tp]:
                    targets[tp].store.write((), offset=offset - 1)
                    behind.discard(tp)
        return restored

    def _write(self, target: Target, messages: Sequence[Message], *, end: int) -> int:
        last = messages[-1].offset() or 0
        target.store.write([(message.key() or b"", message.value()) for message in messages], offset=last)
        self._observer.restored(
            target.table, partition=target.tp.partition, records=len(messages), remaining=max(0, end - last - 2)
        )
        self._fail_points.reach("in-restore")
        return len(messages)


def _start(target: Target, *, end: int) -> int:
    persisted = target.store.offset()
    if persisted is not None and persisted >= end:
        raise Broken(
            f"the state in {target.store.path} goes to offset {persisted} of {target.tp.topic}, which ends at {end}: "
            "it belongs to another cluster or an earlier topic; `roomkeeper streams rebuild-state` makes it anew"
        )
    return 0 if persisted is None else persisted + 1


def _sort(messages: list[Message]) -> tuple[dict[TP, list[Message]], dict[TP, int]]:
    """Messages by partition, and the next offset of each partition by what was seen."""
    batches: dict[TP, list[Message]] = defaultdict(list)
    reached: dict[TP, int] = {}
    for message in messages:
        error, offset = message.error(), message.offset() or 0
        tp = TP(message.topic() or "", message.partition() or 0)
        if error is None:
            batches[tp].append(message)
            reached[tp] = offset + 1
        elif error.code() == KafkaError._PARTITION_EOF:
            reached[tp] = offset
        else:
            raise translate(error, doing="restore")
    return batches, reached
