"""What the client's errors mean: fold again, end the process, or call again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from schemas.errors import Broken, Misconfigured, Unavailable
from streams.engine.producer import Fenced, TransactionalProducer


def failing(error: KafkaError | BaseException, *, times: int = 1) -> Callable[..., Any]:
    """A call of the client that fails so often and then succeeds."""
    left = [error] * times

    def call(*_: object, **__: object) -> None:
        if left:
            found = left.pop()
            raise KafkaException(found) if isinstance(found, KafkaError) else found

    return call


def succeeding(*_: object, **__: object) -> None:
    """A call that succeeds."""


class Client:
    """Stands for librdkafka: every call succeeds, but for those that are replaced."""

    def __init__(self, **calls: Callable[..., Any]) -> None:
        """Calls by their names."""
        self.made: list[str] = []
        self._calls = calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Note a call and make it."""

        def call(*arguments: object, **named: object) -> Any:
            self.made.append(name)
            return self._calls.get(name, succeeding)(*arguments, **named)

        return call


def producer(**calls: Callable[..., Any]) -> TransactionalProducer:
    """A producer on such a client."""
    made = TransactionalProducer(
        {"bootstrap.servers": "127.0.0.1:1"}, transactional_id="lane", transaction_timeout_seconds=1.0
    )
    made.close()
    made._client = Client(**calls)  # type: ignore[assignment]  # stands for it
    return made


def produce(it: TransactionalProducer) -> None:
    """One record."""
    it.produce("t", key=b"k", value=b"v")


def produce_many(it: TransactionalProducer) -> None:
    """A batch of one."""
    it.produce_batch("t", [{"key": b"k", "value": b"v"}])


def commit(it: TransactionalProducer) -> None:
    """A commit without offsets."""
    it.commit([], None)


@pytest.mark.parametrize("put", [produce, produce_many])
@pytest.mark.parametrize(
    "error",
    [
        KafkaError(KafkaError._STATE, "in an aborted transaction"),
        KafkaError(KafkaError._TIMED_OUT, "too late"),
        KafkaError(KafkaError.NOT_COORDINATOR, "moved"),
        KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "lost one"),
        BufferError("queue full"),
    ],
)
def test_a_record_that_cannot_be_produced_aborts(
    put: Callable[[TransactionalProducer], None], error: KafkaError | BufferError
) -> None:
    """A broker that restarts under a transaction is no reason to end: the transaction is aborted and folded again."""
    with pytest.raises(Unavailable):
        put(producer(produce=failing(error), produce_batch=failing(error)))


@pytest.mark.parametrize("put", [produce, produce_many, commit])
@pytest.mark.parametrize(
    "error",
    [
        KafkaError(KafkaError._FENCED, "by a newer producer"),
        KafkaError(KafkaError.INVALID_PRODUCER_EPOCH, "an older one"),
        KafkaError(KafkaError._FATAL, "not called fatal by fatal()"),
        KafkaError(KafkaError.UNKNOWN_PRODUCER_ID, "gave up", fatal=True),
    ],
)
def test_a_fenced_producer_ends_the_process(put: Callable[[TransactionalProducer], None], error: KafkaError) -> None:
    """Another owner writes for this lane now: folding again here would be in vain, and must not look like an outage."""
    fail = failing(error)
    with pytest.raises(Fenced):
        put(producer(produce=fail, produce_batch=fail, send_offsets_to_transaction=fail, commit_transaction=fail))


def test_a_record_of_a_batch_that_failed_alone_is_noticed() -> None:
    """The client takes the others: without a look at each the transaction would be committed without one output."""

    def take_but_one(_topic: str, messages: list[dict[str, Any]], _partition: int) -> int:
        messages[0]["_error"] = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large")
        return len(messages) - 1

    with pytest.raises(Unavailable):
        produce_many(producer(produce_batch=take_but_one))


def test_a_lost_transaction_is_aborted() -> None:
    """When the client says that the transaction must be aborted, nothing of it is committed."""
    lost = failing(KafkaError(KafkaError.TRANSACTION_COORDINATOR_FENCED, "lost", txn_requires_abort=True))
    with pytest.raises(Unavailable):
        commit(producer(commit_transaction=lost))


@pytest.mark.parametrize("step", ["send_offsets_to_transaction", "commit_transaction"])
@pytest.mark.parametrize(
    "error", [KafkaError(KafkaError._TIMED_OUT, "not yet"), KafkaError(KafkaError.NOT_COORDINATOR, "", retriable=True)]
)
def test_a_commit_is_repeated_while_the_client_wants_it(step: str, error: KafkaError) -> None:
    """A time-out of a commit decides nothing: the same call again finds out."""
    it = producer(**{step: failing(error, times=3)})
    commit(it)
    assert it._client.made.count(step) == 4  # type: ignore[attr-defined]  # the stand-in has it


def test_a_commit_of_unknown_fate_ends_the_process() -> None:
    """Folding again might count twice; the next owner's fence decides what became of it."""
    with pytest.raises(Broken, match="whether it committed is unknown"):
        commit(producer(commit_transaction=failing(KafkaError(KafkaError.UNKNOWN, "who knows"))))


def test_a_fence_that_gets_no_answer_is_tried_again_by_a_new_producer() -> None:
    """The broker is away: that is an outage, and no reason to end."""
    with pytest.raises(Unavailable):
        producer(init_transactions=failing(KafkaError(KafkaError._TIMED_OUT, "no answer"))).fence()


def test_a_transaction_timeout_that_the_broker_refuses_is_named() -> None:
    """No repetition helps against a setting."""
    refused = failing(KafkaError(KafkaError.INVALID_TRANSACTION_TIMEOUT, "too long"))
    with pytest.raises(Misconfigured, match="TRANSACTION_TIMEOUT_SECONDS"):
        producer(init_transactions=refused).fence()


def test_a_producer_whose_client_protests_is_closed_all_the_same() -> None:
    """A fenced client refuses even to be emptied."""
    it = producer(purge=failing(KafkaError(KafkaError._FENCED, "no")))
    it.close()
    assert it._client.made == ["purge"]  # type: ignore[attr-defined]  # the stand-in has it
