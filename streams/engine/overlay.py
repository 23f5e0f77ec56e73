"""What a fold sees of its table: the open transaction's changes, over entries known to be committed, over RocksDB.

Entries are decoded once and kept; a changed entry is encoded once per transaction, whatever the number of events that
touched it. Nothing reaches RocksDB before the transaction is committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from schemas.errors import Broken, DecodeError
from streams.engine.bookmark import Bookmark
from streams.engine.revised import pack, unpack
from streams.engine.store import PartitionStore
from streams.fold import Fold

E = TypeVar("E")


class Overlay(Generic[E]):
    """One partition of one table, as the transaction in progress has it."""

    def __init__(self, *, fold: Fold[E], store: PartitionStore, bookmark: Bookmark, cache_entries: int) -> None:
        """Keeps between `cache_entries` and twice as many decoded entries in memory."""
        self._fold = fold
        self._store = store
        self._generation = bookmark.generation
        self._base = bookmark.base
        self._cache_entries = cache_entries
        self._changed: dict[str, tuple[E, int]] = {}
        self._recent: dict[str, E] = {}
        self._older: dict[str, E] = {}
        self._encoded: list[tuple[bytes, bytes]] = []

    def read(self, key: str) -> E | None:
        """The entry of a key as the last folded record left it; None when there is none.

        Raises:
            Broken: RocksDB fails, or holds what cannot be read.
        """
        changed = self._changed.get(key)
        if changed is not None:
            return changed[0]
        entry = self._recent.get(key)
        if entry is None:
            entry = self._older.pop(key, None)
            if entry is None:
                entry = self._load(key)
            if entry is not None:
                self._remember(key, entry)
        return entry

    def change(self, entries: Mapping[str, E], *, revision: int) -> None:
        """Take over what a record did to its entries."""
        for key, entry in entries.items():
            self._changed[key] = (entry, revision)

    @property
    def is_changed(self) -> bool:
        """Whether the transaction changed anything."""
        return bool(self._changed)

    def changelog(self) -> list[tuple[bytes, bytes]]:
        """Key and value of each changed entry: this transaction's part of the changelog."""
        encode, generation = self._fold.encode, self._generation
        self._encoded = [
            (key.encode(), pack(generation=generation, revision=revision, entry=encode(entry)))
            for key, (entry, revision) in self._changed.items()
        ]
        return self._encoded

    def persist(self, *, changelog_offset: int) -> None:
        """The transaction is committed: write its part to RocksDB and keep its entries.

        Raises:
            Broken: the disk is full or fails.
        """
        self._store.write(self._encoded, offset=changelog_offset)
        recent, older = self._recent, self._older
        for key, (entry, _) in self._changed.items():
            if key in recent:
                recent[key] = entry
            else:
                older.pop(key, None)
                self._remember(key, entry)
                recent, older = self._recent, self._older
        self.rollback()

    def rollback(self) -> None:
        """Forget what the transaction changed."""
        self._changed.clear()
        self._encoded = []

    def _load(self, key: str) -> E | None:
        """The entry in RocksDB, unless a refold makes its generation anew."""
        value = self._store.get(key.encode())
        if value is None:
            return None
        try:
            generation, _, entry = unpack(value)
            return self._fold.decode(entry) if generation >= self._base else None
        except DecodeError as error:  # as a bad message it would cost the record that asks for it
            raise Broken(
                f"the state in {self._store.path} cannot be read: {error}; "
                "`roomkeeper streams rebuild-state` makes it anew"
            ) from error

    def _remember(self, key: str, entry: E) -> None:
        """Two generations of a dictionary make a cache of the recently used whose every step is a dictionary's."""
        if len(self._recent) >= self._cache_entries and key not in self._recent:
            self._recent, self._older = {}, self._recent
        self._recent[key] = entry
