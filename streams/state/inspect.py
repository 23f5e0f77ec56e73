"""`inspect`: the entries of a key, by hand, as JSON: what is kept, and for a room how it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from runtime.settings import Settings
from streams.engine.revised import unpack
from streams.engine.store import PartitionStore
from streams.state.changelog import newest
from streams.state.tables import TablePartition


class Found(NamedTuple):
    """One entry of a table."""

    table: str
    partition: int
    key: str
    generation: int
    revision: int
    """Offset, in the source topic, of the record that last touched it."""
    entry: bytes
    """In single-object encoding."""


def find_on_disk(partitions: Iterable[TablePartition], key: str) -> list[Found]:
    """The entry of `key` and those below it (`key|…`) in this disk's databases; a worker may have them open."""
    return [found for each in partitions if each.path.exists() for found in _in_store(each, key)]


def find_in_changelogs(settings: Settings, partitions: Sequence[TablePartition], key: str) -> list[Found]:
    """The same from the changelogs, which are read as a whole.

    Raises:
        Unavailable: the broker does not answer.
    """
    by_tp = {each.changelog: each for each in partitions}
    held = newest(settings.kafka, list(by_tp), wanted=lambda found: _below(found, key))
    return [
        _found(by_tp[tp], name, value)
        for tp, entries in held.items()
        for name, value in sorted(entries.items())
        if value is not None
    ]


def _in_store(partition: TablePartition, key: str) -> Iterator[Found]:
    store = PartitionStore(partition.path, read_only=True)
    try:
        for name, value in store.items(prefix=key.encode()):
            if _below(name, key):
                yield _found(partition, name, value)
    finally:
        store.close()


def _below(name: bytes, key: str) -> bool:
    return name == key.encode() or name.startswith(f"{key}|".encode())


def _found(partition: TablePartition, name: bytes, value: bytes) -> Found:
    generation, revision, entry = unpack(value)
    return Found(partition.fold.table, partition.changelog.partition, name.decode(), generation, revision, entry)


def kept(found: Found) -> dict[str, Any]:
    """Where an entry lies and how old it is, for JSON."""
    return {
        "table": found.table,
        "partition": found.partition,
        "key": found.key,
        "generation": found.generation,
        "revision": found.revision,
    }
