"""The simple fold without a framework: one confluent-kafka loop over rocksdict. A ceiling for any of them in Python.

At least once, and nothing else: no rebalance, no restore, no dead letters, no watchdog.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

from confluent_kafka import Consumer, Message, Producer
from rocksdict import Options, Rdict, WriteBatch

from bench.peers.arguments import Arguments, mark, read_arguments
from bench.streams.codec import Plain, decode_event, decode_status, encode_answer, encode_status
from bench.streams.status import TABLE, answer_to, is_newer, status_of

_BATCH_RECORDS = 2_000
_FLUSH_SECONDS = 30.0


class Loop:
    """Reads a batch, folds it, confirms its outputs and changelog, writes RocksDB, commits."""

    def __init__(self, arguments: Arguments) -> None:
        """Connect."""
        client = {"bootstrap.servers": arguments.bootstrap_servers}
        self._arguments = arguments
        self._changelog = f"{arguments.app_id}-{TABLE}-changelog"
        self._consumer = Consumer(
            {**client, "group.id": arguments.app_id, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        )
        self._producer = Producer(
            {
                **client,
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "linger.ms": 5,
                "queue.buffering.max.messages": 500_000,
            }
        )
        self._databases: dict[int, Rdict] = {}
        self._stopping = False

    def run(self) -> None:
        """Until SIGTERM."""
        signal.signal(signal.SIGTERM, self._stop)
        self._consumer.subscribe([self._arguments.source])
        started = False
        while not self._stopping:
            batch = self._consumer.consume(_BATCH_RECORDS, timeout=0.1)
            if batch and not started:
                started = True
                mark("first")
            if batch:
                self._fold(batch)
        self._consumer.close()

    def _fold(self, batch: Iterable[Message]) -> None:
        changed: dict[int, dict[bytes, bytes]] = {}
        for message in batch:
            partition, key, value = message.partition() or 0, message.key() or b"", message.value() or b""
            event = decode_event(value)
            overlay = changed.setdefault(partition, {})
            stored = overlay.get(key) or self._database(partition).get(key)
            before = decode_status(stored) if stored else None
            self._producer.produce(self._arguments.output, self._answer(event, before, overlay=overlay, key=key), key)
        for partition, overlay in changed.items():
            for key, value in overlay.items():
                self._producer.produce(self._changelog, value, key, partition)
        self._producer.flush(_FLUSH_SECONDS)
        for partition, overlay in changed.items():
            self._write(partition, overlay)
        self._consumer.commit(asynchronous=True)

    def _answer(self, event: Plain, before: Plain | None, *, overlay: dict[bytes, bytes], key: bytes) -> bytes:
        if not is_newer(event, before):
            return encode_answer(answer_to(event, after=before or event, applied=False))
        after = status_of(event)
        overlay[key] = encode_status(after)
        return encode_answer(answer_to(event, after=after, applied=True))

    def _write(self, partition: int, overlay: dict[bytes, bytes]) -> None:
        writes = WriteBatch(raw_mode=True)
        for key, value in overlay.items():
            writes.put(key, value)
        self._database(partition).write(writes)

    def _database(self, partition: int) -> Rdict:
        if partition not in self._databases:
            folder = Path(self._arguments.state_dir, str(partition))
            folder.parent.mkdir(parents=True, exist_ok=True)
            self._databases[partition] = Rdict(str(folder), Options(raw_mode=True))
        return self._databases[partition]

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stopping = True


if __name__ == "__main__":
    Loop(read_arguments()).run()
