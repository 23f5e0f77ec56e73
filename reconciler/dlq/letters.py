"""A dead letter as the ledger knows it, and how to name some of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

import orjson
from confluent_kafka import Message

from schemas.errors import Misconfigured

Status = Literal["open", "held", "replayed", "discarded", "expired"]
WAITING: tuple[Status, ...] = ("open", "held")
"""What nobody has dealt with."""
EVERY: tuple[Status, ...] = ("open", "held", "replayed", "discarded", "expired")


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One row of the ledger."""

    letter_id: UUID
    topic: str
    """Where the message came from: logical name, partition, offset."""
    partition: int
    at_offset: int
    happened_at: datetime
    stage: str
    error_class: str
    error_message: str
    first_failed_at: datetime
    failed_at: datetime
    attempt: int
    failed_job: str | None
    message_key: bytes | None
    key_text: str | None
    size_bytes: int
    sealed: bool
    letter_partition: int
    """Where its newest copy lies in `dead-letters`."""
    letter_offset: int
    status: Status
    status_at: datetime
    status_by: str | None
    reason: str | None
    job: str | None
    sent_attempt: int | None
    sent_partition: int | None
    sent_offset: int | None
    edited_value: bytes | None
    edited_at: datetime | None
    edited_by: str | None
    change_no: int

    @property
    def origin(self) -> str:
        """Topic, partition and offset in one word."""
        return f"{self.topic}/{self.partition}/{self.at_offset}" if self.at_offset >= 0 else f"{self.topic} (http)"

    def value_in(self, message: Message | None) -> bytes | None:
        """What would be sent now: what an operator put in the value's place, or else what its message has."""
        if message is None or self.edited_value is not None:
            return self.edited_value
        return message.value()

    def as_plain(self) -> dict[str, Any]:
        """For JSON: no bytes, times as text."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in _COLUMNS}
        key, edited = plain.pop("message_key"), plain.pop("edited_value")
        plain["key_hex"] = None if key is None or self.key_text is not None else key.hex()
        return plain | {"letter_id": str(self.letter_id), "edited": edited is not None}


_COLUMNS = tuple(each.name for each in fields(Letter))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which dead letters are meant; what is None does not matter."""

    letter_id: str | None = None
    stage: str | None = None
    error: str | None = None
    topic: str | None = None
    partition: int | None = None
    from_offset: int | None = None
    to_offset: int | None = None
    key: str | None = None
    """A meeting's id or a room's number."""
    since: datetime | None = None
    """Failed last at this moment or later."""
    until: datetime | None = None
    """Failed last before this moment."""
    text: str | None = None
    """Part of the error's message, in any case."""

    @property
    def named(self) -> dict[str, Any]:
        """Those that matter."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def json(self) -> str:
        """For the database; equal filters give equal texts."""
        return orjson.dumps(self.named, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `json`."""
        named = orjson.loads(text)
        times = {name: datetime.fromisoformat(named[name]) for name in ("since", "until") if name in named}
        return cls(**(named | times))

    def __str__(self) -> str:
        """For people."""
        return ", ".join(f"{name}={value}" for name, value in self.named.items()) or "all"


def letter_uuid(text: str) -> UUID:
    """A dead letter's id.

    Raises:
        Misconfigured: it is none.
    """
    try:
        return UUID(text)
    except ValueError as error:
        raise Misconfigured(f"{text}: not the id of a dead letter") from error
