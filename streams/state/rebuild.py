"""`rebuild-state`: wipe a worker's disk, restore it from the changelogs, and compare a sample with what they hold."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from runtime.settings import Settings
from schemas.errors import Broken
from streams.engine.observer import Silent
from streams.engine.restore import BulkRestore, Target
from streams.engine.store import PartitionStore, wipe
from streams.fail_points import FailPoints
from streams.state.changelog import newest
from streams.state.tables import TablePartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What was done."""

    partitions: int
    records: int
    compared: int
    """Keys whose entries were compared with the changelog; all of them are equal."""


def rebuild(settings: Settings, partitions: Sequence[TablePartition], *, sample: int) -> Rebuilt:
    """Make the databases anew; one key in `sample` is compared.

    Raises:
        Unavailable: a worker has one of them open, or the broker does not answer.
        Broken: the disk fails, or an entry differs.
    """
    for each in partitions:
        if each.path.exists():
            PartitionStore(each.path).close()  # nobody else has it open
    for each in partitions:
        wipe(each.path)
    stores = [PartitionStore(each.path) for each in partitions]
    try:
        records = _restore(settings, partitions, stores)
        compared = _compare(settings, partitions, stores, sample=sample)
    finally:
        for store in stores:
            store.close()
    return Rebuilt(partitions=len(partitions), records=records, compared=compared)


def _restore(settings: Settings, partitions: Sequence[TablePartition], stores: Sequence[PartitionStore]) -> int:
    restore = BulkRestore(
        settings.kafka,
        client_id=f"{settings.streams.app_id}-rebuild",
        stop=threading.Event(),
        observer=Silent(),
        fail_points=FailPoints(None),
    )
    targets = [Target(each.changelog, each.fold.table, store) for each, store in zip(partitions, stores, strict=True)]
    return restore.run(targets)


def _compare(
    settings: Settings, partitions: Sequence[TablePartition], stores: Sequence[PartitionStore], *, sample: int
) -> int:
    """How many keys of the sample there are; a second reading of the changelogs says what they should hold."""
    by_tp = {each.changelog: store for each, store in zip(partitions, stores, strict=True)}
    until = {tp: (store.offset() or -1) + 1 for tp, store in by_tp.items()}
    held = newest(settings.kafka, list(by_tp), wanted=lambda key: crc32(key) % sample == 0, until=until)
    for tp, entries in held.items():
        for key, value in entries.items():
            if by_tp[tp].get(key) != value:
                raise Broken(f"{by_tp[tp].path}: the entry of {key!r} differs from the changelog's")
    return sum(len(entries) for entries in held.values())
