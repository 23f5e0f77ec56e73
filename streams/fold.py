"""What lies between engine and fold: the engine moves bytes and keeps them safe, a fold is pure and knows the domain.

The engine hands a fold one raw record and a way to read table entries (through its overlay of what is not yet
committed); the fold answers with the entries as they are now and the outputs to send. All of one transaction's answers
become visible together or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, Protocol, TypeVar

E = TypeVar("E")


class Input(NamedTuple):
    """A record as the broker has it.

    A tuple, for one is made per record: a frozen dataclass costs nine times as much.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: str
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


class Output(NamedTuple):
    """A record to send. Build it with keywords."""

    topic: str
    """Logical name in `topics.yaml`, without the prefix."""
    key: str
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


class Folded(NamedTuple, Generic[E]):
    """What one record did. Build it with keywords."""

    outcome: str
    """`applied`, `overtaken`, `repeated` or `rejected`; counted in the metrics."""
    entries: Mapping[str, E] = MappingProxyType({})
    """Every touched entry by key, after the record; the engine stores it with revision (generation, offset)."""
    outputs: tuple[Output, ...] = ()


class Fold(Protocol[E]):
    """A pure fold over one source topic into one table."""

    source: str
    """Logical name of the source topic."""
    table: str
    """Name of the table; its changelog is `<app id>-<table>-changelog`."""

    def fold(self, record: Input, read: Callable[[str], E | None], *, generation: int) -> Folded[E]:
        """What this record does.

        Raises:
            BadMessage: it cannot be read or breaks its contract: it becomes a dead letter and nothing else happens.
        """

    def encode(self, entry: E) -> bytes:
        """The entry in single-object encoding; equal entries give equal bytes."""

    def decode(self, value: bytes) -> E:
        """The entry that `encode` wrote."""
