"""Faust's table, with RocksDB opened, written and closed by the engine.

A table is declared to Faust so that its changelog is named by Faust's rule and assigned with its source topic. Entries
are read through a lane's overlay and written by its transactions; the dictionary's own operations are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import faust
from faust.stores.rocksdb import Store as RocksDBStore
from faust.types import TP

from schemas.errors import Broken
from streams.engine.store import PartitionStore, partition_path


class Store(RocksDBStore):
    """The partitions of one table that are open here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is opened yet."""
        super().__init__(*args, **kwargs)
        self.partitions: dict[int, PartitionStore] = {}

    def open(self, partition: int) -> PartitionStore:
        """The database of a partition, opened if it is not open.

        Raises:
            Unavailable: another process has it open.
            Broken: it cannot be written.
        """
        if partition not in self.partitions:
            self.partitions[partition] = PartitionStore(self._path(partition))
        return self.partitions[partition]

    def close_except(self, kept: set[int]) -> None:
        """Close all partitions but these."""
        for partition in set(self.partitions) - kept:
            self.partitions.pop(partition).close()

    def _path(self, partition: int) -> Path:
        return partition_path(Path(self.app.conf.datadir), table=self.table_name, partition=partition)

    def persisted_offset(self, tp: TP) -> int | None:
        """The changelog offset up to which the open partition is complete."""
        return self.partitions[tp.partition].offset()

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Nothing: the recovery opens and closes, in a thread, so that the rebalance's callback returns at once."""

    async def stop(self) -> None:
        """Close all partitions."""
        self.close_except(set())

    def _set(self, key: bytes, value: bytes | None) -> None:
        raise Broken("tables are written by transactions alone")

    def _del(self, key: bytes) -> None:
        raise Broken("tables are written by transactions alone")


class Table(faust.Table[str, bytes]):
    """A table whose store is the engine's."""

    def _new_store(self) -> Store:
        return Store(
            "rocksdb://",
            self.app,
            self,
            table_name=self.name,
            key_type=self.key_type,
            key_serializer=self.key_serializer,
            value_serializer=self.value_serializer,
            value_type=self.value_type,
            loop=self.loop,
            options={"driver": "rocksdict"},
        )

    @property
    def store(self) -> Store:
        """The store, by its own type."""
        return cast("Store", self.data)
