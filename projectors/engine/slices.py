"""What moves through the engine: slices of partitions, refused records, and what a transaction did."""

from __future__ import annotations

from dataclasses import dataclass

from projectors.projection import Consumed
from schemas.errors import BadMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The next records of one partition, in order and never none."""

    partition: int
    held: int
    """The stored offset that these records follow: where this process left the partition."""
    records: tuple[Consumed, ...]

    @property
    def next_offset(self) -> int:
        """The offset to store once they are written."""
        return self.records[-1].offset + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A record that cannot be projected, and why."""

    consumed: Consumed
    error: BadMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What one transaction did."""

    applied: int
    refused: tuple[Refused, ...]
    overtaken: frozenset[int]
    """Partitions that another process had moved: nothing of them was written."""
