"""A transactional confluent-kafka producer, and what its errors mean for the transaction.

Three outcomes are told apart, each by its class:
- `Unavailable`: the transaction did not happen and cannot; abort it and fold its records again;
- `Fenced`: another producer has this transactional id, or the client gave up for good; the process must end;
- `Broken`: what became of a commit is unknown or cannot be mended by repetition; the process must end, and the next
  owner's fence decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from runtime.kafka.config import Config
from runtime.kafka.errors import error_log, translate
from schemas.errors import Broken, Misconfigured, Unavailable

CALL_SECONDS = 10.0
"""A call of the client returns within so long, with a result or to be repeated."""
RETRY_SECONDS = 0.1
BUFFER_RECORDS = 500_000
"""More than a transaction can hold: a full buffer would stop the loop that all partitions share."""
LINGER_MS = 50
"""Nobody can read a record before the commit, and that sends what waits at once: so batches may grow meanwhile."""

_FENCED = frozenset(
    {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError._FATAL}
)
"""`produce()` may raise `_FATAL` whose `fatal()` says False [seen with librdkafka 2.12]."""


class Fenced(Broken):
    """This producer may write no more: its transactional id has another owner."""


class TransactionalProducer:
    """One transactional id. Not thread-safe: one thread at a time."""

    def __init__(self, config: Config, *, transactional_id: str, transaction_timeout_seconds: float) -> None:
        """Connects in the background; nothing is fenced yet.

        Raises:
            Misconfigured: a setting does not hold.
        """
        self.transactional_id = transactional_id
        settings: dict[str, Any] = {
            **config,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": round(transaction_timeout_seconds * 1000),
            "message.timeout.ms": round(transaction_timeout_seconds * 1000),
            "queue.buffering.max.messages": BUFFER_RECORDS,
            "linger.ms": LINGER_MS,
            "error_cb": error_log(transactional_id),
        }
        try:
            self._client = Producer(settings)
        except KafkaException as error:
            raise Misconfigured(f"start the producer {transactional_id}: {error}") from error

    def fence(self) -> None:
        """Take the transactional id over: whatever an earlier owner left is aborted, and it can write no more. Blocks.

        Raises:
            Unavailable: the broker does not answer; a new producer may try again.
        """
        try:
            self._client.init_transactions(CALL_SECONDS)
        except KafkaException as error:
            inner = _inner(error)
            if inner.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT:
                raise Misconfigured(
                    "ROOMKEEPER_STREAMS__TRANSACTION_TIMEOUT_SECONDS: the broker's transaction.max.timeout.ms is less"
                ) from error
            raise translate(inner, doing=f"fence {self.transactional_id}") from error

    def begin(self) -> None:
        """Open a transaction."""
        self._call("begin", self._client.begin_transaction)

    def produce(
        self,
        topic: str,
        *,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
        partition: int = -1,
        on_delivery: Callable[[KafkaError | None, Any], None] | None = None,
    ) -> None:
        """Put a record into the transaction.

        Raises:
            Unavailable: the transaction must be aborted.
            Fenced: the process must end.
        """
        try:
            self._client.produce(topic, value, key, partition, on_delivery, headers=list(headers) if headers else None)
        except BufferError as error:
            raise Unavailable(f"{self.transactional_id}: the producer's buffer is full") from error
        except KafkaException as error:
            raise self._lost(_inner(error)) from error

    def produce_batch(self, topic: str, messages: list[dict[str, Any]], *, partition: int = -1) -> None:
        """Put records without headers into the transaction: `key`, `value`, and perhaps a `callback` for its delivery.

        The client lets go of Python's lock once for all of them, where `produce` does so for each.

        Raises:
            Unavailable: the transaction must be aborted.
            Fenced: the process must end.
        """
        try:
            taken = self._client.produce_batch(topic, messages, partition)
        except BufferError as error:
            raise Unavailable(f"{self.transactional_id}: the producer's buffer is full") from error
        except KafkaException as error:
            raise self._lost(_inner(error)) from error
        if taken != len(messages):
            failed = next(each["_error"] for each in messages if "_error" in each)
            raise self._lost(failed)

    def serve(self) -> None:
        """Let the client free what is delivered. Returns at once."""
        self._client.poll(0)

    def commit(self, offsets: Sequence[TopicPartition], group_metadata: Any) -> None:
        """Commit the records and, with them, these offsets of the group. Blocks until that is decided.

        While the broker is away it goes on trying; the watchdog ends the process when a call does not return
        [seen once in `send_offsets_to_transaction`, after a broker was away for 45 s].

        Raises:
            Unavailable: nothing is committed, and the transaction must be aborted.
            Fenced: nothing is committed.
            Broken: whether it is committed is unknown.
        """
        self._repeat(
            "send offsets",
            lambda: self._client.send_offsets_to_transaction(list(offsets), group_metadata, CALL_SECONDS),
        )
        try:
            self._repeat("commit", lambda: self._client.commit_transaction(CALL_SECONDS))
        except _Unclear as unclear:
            raise Broken(f"whether it committed is unknown: {unclear}") from unclear
        self.serve()

    def abort(self) -> None:
        """Abort the open transaction. Blocks.

        Raises:
            Unavailable: not yet; call again.
            Fenced: the process must end.
        """
        self._call("abort", lambda: self._client.abort_transaction(CALL_SECONDS))

    def close(self) -> None:
        """Drop what is under way and stop. Blocks. A fenced producer protests, and is closed all the same."""
        with suppress(KafkaException):
            self._client.purge()
            self._client.close()

    def _repeat(self, doing: str, call: Callable[[], object]) -> None:
        """Call, and again while the client says that it may be repeated."""
        while True:
            try:
                self._call(doing, call)
                return
            except _Undecided:
                time.sleep(RETRY_SECONDS)

    def _call(self, doing: str, call: Callable[[], object]) -> None:
        try:
            call()
        except KafkaException as error:
            raise self._meaning(doing, _inner(error)) from error

    def _lost(self, error: KafkaError) -> Exception:
        """What a record that could not be produced means."""
        meaning = self._meaning("produce", error)
        return meaning if isinstance(meaning, Fenced) else Unavailable(str(meaning))

    def _meaning(self, doing: str, error: KafkaError) -> Exception:
        text = f"{self.transactional_id}: {doing}: {error.str()} ({error.name()})"
        if error.fatal() or error.code() in _FENCED:
            return Fenced(text)
        if error.txn_requires_abort():
            return Unavailable(text)
        return _Undecided(text) if error.retriable() or error.code() == KafkaError._TIMED_OUT else _Unclear(text)


class _Undecided(Unavailable):
    """The client wants the call repeated."""


class _Unclear(Unavailable):
    """The client says neither that the call may be repeated nor that the transaction is lost."""


def _inner(error: KafkaException) -> KafkaError:
    inner = error.args[0]
    if not isinstance(inner, KafkaError):
        raise Broken(f"the Kafka client raised {error!r}") from error
    return inner
