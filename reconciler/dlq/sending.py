"""What a dead letter is when it goes back, and the sending of many at once.

A record goes to the topic it came from under the key it had, and so to the same partition; its headers carry the
failures so far and the name of the replay. A body that never was a record goes through the parser of ingress first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import NamedTuple, Self

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as Client

from runtime.cipher import SEALED_HEADER, Cipher
from runtime.clock import Clock
from runtime.kafka.config import MESSAGE_MAX_BYTES, producer_config
from runtime.kafka.errors import translate, translate_exception
from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS, Catalogue, physical
from runtime.unreadable_bodies import ACCOUNT_HEADER, REQUEST_ID_HEADER
from schemas.codec import encode
from schemas.dead_letters import REPLAY_HEADER, dead_letter_headers, original_headers, parse_dead_letter
from schemas.errors import BadMessage, RoomkeeperError, Unavailable
from zoom.webhooks.events import parse, record_key

TIMEOUT_SECONDS = 30.0
_FULL_SECONDS = 0.1
"""The wait for room in the client's buffer."""
_POLL_EVERY = 256
"""Acknowledgements are looked at once for so many messages."""
RETURNED = -1
KEYLESS = -1
"""The client chooses the partition."""

Headers = Sequence[tuple[str, bytes | None]]


class Parcel(NamedTuple):
    """A message ready to be sent; `topic` is the name on the cluster. A tuple, for one is made per letter."""

    topic: str
    partition: int
    """`KEYLESS` lets the key decide, as it did the first time."""
    key: bytes | None
    value: bytes | None
    headers: Headers
    returned: bool = False
    """Whether it goes to the dead letters again."""


class Sent(NamedTuple):
    """Where an acknowledged message lies; both are `RETURNED` of one that went to the dead letters again."""

    partition: int
    offset: int


NOWHERE = Sent(partition=RETURNED, offset=RETURNED)


class Content(NamedTuple):
    """A dead letter as it lies in the topic, with what an operator put in its value's place."""

    topic: str
    """Logical name of where it came from."""
    partition: int
    sealed: bool
    key: bytes | None
    value: bytes | None
    headers: Headers


class Packing:
    """Makes parcels of dead letters."""

    def __init__(self, settings: Settings, *, catalogue: Catalogue, job: str, clock: Clock) -> None:
        """`job` signs the parcels."""
        self._prefix = settings.kafka.topic_prefix
        self._keys = settings.security.encryption_keys
        self._kafka = settings.kafka
        self._catalogue = catalogue
        self._signature = (REPLAY_HEADER, job.encode())
        self._clock = clock

    def refusal(self, topic: str) -> str | None:
        """Why nothing may go back to a topic; None when it may."""
        declared = self._catalogue.topics.get(topic)
        if declared is None:
            return f"{topic} is no topic of Roomkeeper's"
        return None if "dlq" in declared.written_by else f"{topic} is not written by replays"

    def pack(self, content: Content) -> Parcel:
        """The message as it goes back; a body that still cannot be read goes to the dead letters again.

        Raises:
            BadMessage: it was sealed with a key that is not held, or its topic takes none that is so large.
        """
        if content.sealed:
            return self._unsealed(content)
        headers = [each for each in content.headers if each[0] != REPLAY_HEADER]
        headers.append(self._signature)
        return Parcel(
            topic=physical(content.topic, prefix=self._prefix),
            partition=KEYLESS if content.key is not None else self._old_partition(content),
            key=content.key,
            value=None if content.value is None else _bounded(content.value),
            headers=headers,
        )

    def _unsealed(self, content: Content) -> Parcel:
        """The event in an authentic body, as ingress would have sent it."""
        own = dict(original_headers(content.headers))
        failed = parse_dead_letter(content.headers)
        raw = Cipher(self._keys).open(content.value or b"")
        try:
            event = parse(
                raw,
                account_id=own.get(ACCOUNT_HEADER, b"").decode(),
                request_id=own[REQUEST_ID_HEADER].decode() if REQUEST_ID_HEADER in own else None,
                received_at=failed.first.failed_at,
            )
            value = _bounded(encode(event))
        except BadMessage as error:
            return self._returned(content, error)
        headers = [(name, value) for name, value in content.headers if name not in (SEALED_HEADER, REPLAY_HEADER)]
        return Parcel(
            topic=physical(content.topic, prefix=self._prefix),
            partition=KEYLESS,
            key=record_key(event).encode(),
            value=value,
            headers=[*headers, self._signature],
        )

    def _returned(self, content: Content, error: BadMessage) -> Parcel:
        failed = parse_dead_letter(content.headers)
        headers = dead_letter_headers(
            origin=failed.first.origin,
            stage=failed.first.stage,
            error=error,
            failed_at=self._clock.now(),
            previous=[*content.headers, self._signature],
        )
        topic = physical(DEAD_LETTERS, prefix=self._prefix)
        value = content.value
        return Parcel(topic=topic, partition=KEYLESS, key=content.key, value=value, headers=headers, returned=True)

    def _old_partition(self, content: Content) -> int:
        """Without a key the partition itself is what must stay, while there is one of that number."""
        count = self._catalogue.partitions_of(content.topic, self._kafka)
        return content.partition if 0 <= content.partition < count else KEYLESS


class Sender:
    """Sends parcels, all of a batch or none that counts. Use it as a context manager."""

    def __init__(self, settings: Settings) -> None:
        """Connects in the background."""
        config = producer_config(settings.kafka, client_id="dlq", timeout_seconds=TIMEOUT_SECONDS)
        self._client = Client({**config, "linger.ms": 5, "error_cb": _ignore})
        self._sent: list[Sent | None] = []
        self._error: RoomkeeperError | None = None

    def __enter__(self) -> Self:
        """The sender itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what is under way."""
        self._client.flush(TIMEOUT_SECONDS)

    def send(self, parcels: Sequence[Parcel]) -> list[Sent]:
        """Where they lie, in their order, once all in-sync replicas have them.

        Raises:
            Unavailable: one was not acknowledged in time; others may be there all the same.
        """
        self._sent, self._error = [None] * len(parcels), None
        try:
            for index, parcel in enumerate(parcels):
                self._produce(index, parcel)
                if index % _POLL_EVERY == 0:
                    self._client.poll(0)
        except KafkaException as error:
            raise translate_exception(error, doing="replay dead letters") from error
        self._client.flush(TIMEOUT_SECONDS + 5.0)
        if self._error is not None:
            raise self._error
        acknowledged = [each for each in self._sent if each is not None]
        if len(acknowledged) < len(parcels):
            raise Unavailable(f"{len(parcels) - len(acknowledged)} messages were not acknowledged in time")
        return [NOWHERE if parcel.returned else sent for parcel, sent in zip(parcels, acknowledged, strict=True)]

    def _produce(self, index: int, parcel: Parcel) -> None:
        handed_over = False
        while not handed_over:
            try:
                self._client.produce(
                    parcel.topic,
                    value=parcel.value,
                    key=parcel.key,
                    partition=parcel.partition,
                    headers=list(parcel.headers),
                    on_delivery=partial(self._delivered, index),
                )
                handed_over = True
            except BufferError:
                self._client.poll(_FULL_SECONDS)

    def _delivered(self, index: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._error = translate(error, doing=f"replay to {message.topic()}")
        else:
            self._sent[index] = Sent(partition=message.partition() or 0, offset=message.offset() or 0)


def _bounded(value: bytes) -> bytes:
    if len(value) > MESSAGE_MAX_BYTES:
        raise BadMessage(f"{len(value)} bytes, more than {MESSAGE_MAX_BYTES}")
    return value


def _ignore(_error: KafkaError) -> None:
    """Each message's own outcome says all there is."""
