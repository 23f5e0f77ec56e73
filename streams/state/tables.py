"""Where the tables lie: their changelogs on the cluster, their databases on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faust.types import TP

from runtime.settings import Settings
from schemas.errors import Misconfigured
from streams.engine.store import partition_path
from streams.fold import Fold
from streams.partitions import partition_counts


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePartition:
    """One partition of a table."""

    fold: Fold[Any]
    source: TP
    changelog: TP
    path: Path
    """Its database, if it was ever opened on this disk."""


def partitions_of(settings: Settings, folds: Iterable[Fold[Any]]) -> list[TablePartition]:
    """Every partition of the folds' tables.

    Raises:
        Misconfigured: a topic is missing.
        Unavailable: the broker does not answer.
    """
    chosen = list(folds)
    prefix = settings.kafka.topic_prefix
    changelogs = {fold.table: f"{prefix}{settings.streams.app_id}-{fold.table}-changelog" for fold in chosen}
    counts = partition_counts(settings.kafka, changelogs.values())
    return [
        TablePartition(
            fold=fold,
            source=TP(prefix + fold.source, partition),
            changelog=TP(changelogs[fold.table], partition),
            path=partition_path(settings.streams.data_dir, table=fold.table, partition=partition),
        )
        for fold in chosen
        for partition in range(counts[changelogs[fold.table]])
    ]


def choose(folds: Sequence[Fold[Any]], table: str | None) -> list[Fold[Any]]:
    """The fold of a table, or all of them.

    Raises:
        Misconfigured: there is no such table.
    """
    chosen = [fold for fold in folds if table in (None, fold.table)]
    if not chosen:
        raise Misconfigured(f"--table: {table} is none of {', '.join(fold.table for fold in folds)}")
    return chosen
