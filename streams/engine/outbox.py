"""The outputs of a transaction on their way to the producer, by topic and in their order.

Few outputs wait for the commit: then the transaction's partitions are all told to the broker in one request, and
nothing of it is open there before.
"""

from __future__ import annotations

from typing import Any

from streams.engine.producer import TransactionalProducer
from streams.fold import Output

MANY = 200
"""So many outputs are worth a call of their own before the commit."""


class Outbox:
    """Gathers outputs, for the producer takes many at once for little more than the price of one."""

    def __init__(self, producer: TransactionalProducer, *, topic_prefix: str) -> None:
        """Logical names of topics get the prefix."""
        self._producer = producer
        self._topic_prefix = topic_prefix
        self._waiting: dict[str, list[dict[str, Any]]] = {}
        self._count = 0

    def put(self, output: Output) -> None:
        """Add an output, after those that were put before it.

        Raises:
            Unavailable: the transaction must be aborted.
        """
        topic, key, value, headers = output
        if headers:
            self._put_with_headers(output)
            return
        self._count += 1
        message = {"key": key.encode(), "value": value}
        waiting = self._waiting.get(topic)
        if waiting is None:
            self._waiting[topic] = [message]
        else:
            waiting.append(message)

    def send_many(self) -> None:
        """Hand everything over, if it is enough.

        Raises:
            Unavailable: the transaction must be aborted.
        """
        if self._count >= MANY:
            self.send()

    def send(self) -> None:
        """Hand everything over.

        Raises:
            Unavailable: the transaction must be aborted.
        """
        for topic, messages in self._waiting.items():
            self._producer.produce_batch(self._topic_prefix + topic, messages)
        self.clear()

    def clear(self) -> None:
        """Forget what waits: its transaction is aborted."""
        self._waiting.clear()
        self._count = 0

    def _put_with_headers(self, output: Output) -> None:
        """The client has no batches with headers; what came before must go before."""
        self.send()
        self._producer.produce(
            self._topic_prefix + output.topic, key=output.key.encode(), value=output.value, headers=output.headers
        )
