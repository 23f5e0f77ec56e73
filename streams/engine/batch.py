"""What the consumer hands over: the raw records that one fetch brought for one partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Record(Protocol):
    """A record as aiokafka has it; only what is used."""

    @property
    def offset(self) -> int:
        """Its offset."""

    @property
    def timestamp(self) -> int:
        """When it was produced, in milliseconds."""

    @property
    def key(self) -> bytes | None:
        """Its key."""

    @property
    def value(self) -> bytes | None:
        """Its value."""

    @property
    def headers(self) -> Sequence[tuple[str, bytes]]:
        """Its headers."""


class Batch(NamedTuple):
    """Records of one partition in the order of their offsets; never empty."""

    topic: str
    """The topic's name on the cluster."""
    partition: int
    records: Sequence[Record]
