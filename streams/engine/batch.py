"""What the consumer hands over: the raw records that one fetch brought for one partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Record(Protocol):
    """A record as aiokafka has it; only what is used."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]


class Batch(NamedTuple):
    """Records of one partition in the order of their offsets; never empty."""

    topic: str
    """The topic's name on the cluster."""
    partition: int
    records: Sequence[Record]
