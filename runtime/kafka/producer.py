"""Records to the broker, with an acknowledgement for each: a confluent-kafka producer and its own polling thread.

Guarantees: a record counts as delivered only when all in-sync replicas have it; a record whose fate is unknown after
the time-out counts as not delivered, though it may be there. Callbacks run in the polling thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import NamedTuple, Self

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as Client

from runtime.kafka.config import LINGER_MS, producer_config
from runtime.kafka.errors import error_log, translate, translate_exception
from runtime.settings import KafkaSettings
from schemas.errors import RoomkeeperError, Unavailable

POLL_SECONDS = 0.1
"""How long the thread sleeps in the client when nothing happens; it wakes at once when something does."""

Headers = Sequence[tuple[str, bytes]]


class Outgoing(NamedTuple):
    """A record on its way; `topic` is the name on the cluster. Build it with keywords; a tuple, for speed."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 0
    """0 lets the client take the present moment."""


class Delivery(NamedTuple):
    """Where an acknowledged record lies. Build it with keywords."""

    topic: str
    partition: int
    offset: int


Done = Callable[[Delivery | RoomkeeperError], None]


class Producer:
    """Sends records and says of each what became of it. Use it as a context manager, or close it."""

    def __init__(
        self,
        kafka: KafkaSettings,
        *,
        client_id: str,
        timeout_seconds: float = 30.0,
        linger_ms: int = LINGER_MS,
        after_poll: Callable[[], None] | None = None,
    ) -> None:
        """Connects in the background; a broker that is down shows when a record is sent.

        A record waits `linger_ms` for others of its partition. `after_poll` is called in the polling thread whenever a
        round of callbacks has run.

        Raises:
            Misconfigured: no broker is named, or a security setting does not hold.
        """
        config = producer_config(kafka, client_id=client_id, timeout_seconds=timeout_seconds, linger_ms=linger_ms)
        self._timeout_seconds = timeout_seconds
        self._after_poll = after_poll
        try:
            self._client = Client({**config, "error_cb": error_log(client_id)})
        except KafkaException as error:
            raise translate_exception(error, doing=f"start the producer {client_id}") from error
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._poll, name=f"kafka-{client_id}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        """The producer itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def look_up(self, topics: Iterable[str], *, timeout_seconds: float) -> None:
        """Return when this client is connected and knows these topics, so that a record waits for neither. Blocks.

        Raises:
            Unavailable: no broker answers within the time-out, or a partition has no leader.
            Misconfigured: there is no such topic.
        """
        for topic in topics:
            try:
                found = self._client.list_topics(topic, timeout=timeout_seconds).topics[topic]
            except KafkaException as error:
                raise translate_exception(error, doing=f"look up {topic}") from error
            if found.error is not None:
                raise translate(found.error, doing=f"look up {topic}")
            if any(partition.leader < 0 for partition in found.partitions.values()):
                raise Unavailable(f"look up {topic}: a partition has no leader")

    def submit(self, record: Outgoing, done: Done) -> None:
        """Hand the record over and return; `done` is called once, in the polling thread, with delivery or error.

        Raises:
            Unavailable: the client's buffer is full; `done` will not be called.
            BadMessage: the record is too large; `done` will not be called.
        """
        topic = record.topic

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is None:
                done(Delivery(topic=topic, partition=message.partition() or 0, offset=message.offset() or 0))
            else:
                done(translate(error, doing=f"produce to {topic}"))

        try:
            self._client.produce(
                topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers) or None,
                timestamp=record.timestamp_ms,
                on_delivery=on_delivery,
            )
        except BufferError as error:
            raise Unavailable(f"produce to {topic}: the buffer of unacknowledged records is full") from error
        except KafkaException as error:
            raise translate_exception(error, doing=f"produce to {topic}") from error

    def send(self, record: Outgoing) -> Delivery:
        """Where the record lies, once all in-sync replicas have it. Blocks.

        Raises:
            Unavailable: no acknowledgement within the time-out; the record may be there all the same.
        """
        return self.send_all([record])[0]

    def send_all(self, records: Sequence[Outgoing]) -> list[Delivery]:
        """Where the records lie, in their order, once all of them are acknowledged. Blocks.

        Raises:
            Unavailable: one was not acknowledged within the time-out; others may be there all the same.
        """
        futures: list[Future[Delivery]] = []
        for record in records:
            future: Future[Delivery] = Future()
            self.submit(record, _resolver(future))
            futures.append(future)
        return [_result(future, timeout_seconds=self._timeout_seconds + 5.0) for future in futures]

    def close(self, timeout_seconds: float = 10.0) -> None:
        """Wait for what is under way, at most so long, and stop the thread. Closing twice is harmless."""
        if not self._stopping.is_set():
            self._client.flush(timeout_seconds)
            self._stopping.set()
            self._thread.join(timeout_seconds)

    def _poll(self) -> None:
        while not self._stopping.is_set():
            self._client.poll(POLL_SECONDS)
            if self._after_poll is not None:
                self._after_poll()


def _resolver(future: Future[Delivery]) -> Done:
    def done(outcome: Delivery | RoomkeeperError) -> None:
        if isinstance(outcome, Delivery):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)

    return done


def _result(future: Future[Delivery], *, timeout_seconds: float) -> Delivery:
    """The result; the client gives up by itself within its time-out and a second: a longer silence is a lost thread."""
    try:
        return future.result(timeout_seconds)
    except TimeoutError as error:
        raise Unavailable("no word from the producer within its time-out") from error
