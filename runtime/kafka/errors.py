"""What Kafka's errors mean for Roomkeeper: each falls into one of the four families, once, at this edge."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from confluent_kafka import KafkaError, KafkaException

from schemas.errors import BadMessage, Broken, Misconfigured, RoomkeeperError, Unavailable

QUIET_SECONDS = 30.0
"""The same trouble of the same client is logged once in so long."""

_BAD_MESSAGE = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
    }
)
_MISCONFIGURED = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError._INVALID_ARG,
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError.INVALID_CONFIG,
        KafkaError.INVALID_REPLICATION_FACTOR,
    }
)
_BROKEN = frozenset(
    {
        KafkaError._FATAL,
        KafkaError._FENCED,
        KafkaError._STATE,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
    }
)
_CURES = {
    KafkaError.INVALID_REPLICATION_FACTOR: "; for a cluster with fewer brokers than topics.yaml wants, set "
    "ROOMKEEPER_KAFKA__REPLICATION and ROOMKEEPER_KAFKA__MIN_INSYNC_REPLICAS",
}


def translate(error: KafkaError, *, doing: str) -> RoomkeeperError:
    """The error in Roomkeeper's terms; `doing` says what was being done, such as `produce to zoom-events`."""
    code = error.code()
    text = f"{doing}: {error.str()} ({error.name()}){_CURES.get(code, '')}"
    if error.fatal() or code in _BROKEN:
        return Broken(text)
    if code in _BAD_MESSAGE:
        return BadMessage(text)
    if code in _MISCONFIGURED:
        return Misconfigured(text)
    return Unavailable(text)


def translate_exception(error: KafkaException, *, doing: str) -> RoomkeeperError:
    """The same for an exception, which holds the error as its first argument."""
    inner = error.args[0] if error.args else None
    return translate(inner, doing=doing) if isinstance(inner, KafkaError) else Unavailable(f"{doing}: {error}")


def error_log(client_id: str) -> Callable[[KafkaError], None]:
    """An `error_cb`: a line for trouble with connections, and one for each kind at most every `QUIET_SECONDS`."""
    log = structlog.get_logger("roomkeeper.kafka")
    told_at: dict[str, float] = {}

    def report(error: KafkaError) -> None:
        now = time.monotonic()
        if now - told_at.get(error.name(), float("-inf")) >= QUIET_SECONDS:
            told_at[error.name()] = now
            log.warning("kafka.trouble", client=client_id, error=error.name(), message=error.str(), fatal=error.fatal())

    return report
