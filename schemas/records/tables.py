"""What the changelogs hold: an entry with its revision."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised:
    """The value of a table's key, in RocksDB and in its changelog: enough to rebuild the read model from it alone."""

    generation: int
    revision: int
    """Offset, in the source topic, of the record that last touched the entry."""
    entry: bytes
    """The entry in single-object encoding."""
