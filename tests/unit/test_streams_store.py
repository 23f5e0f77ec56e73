"""One partition of a table on the disk, and the overlay above it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import Broken, Unavailable
from streams.engine.bookmark import Bookmark
from streams.engine.overlay import Overlay
from streams.engine.revised import unpack
from streams.engine.store import PartitionStore, wipe
from streams.fold import Folded, Input

Entry = dict[str, Any]


class KeepingFold:
    """A fold that counts how often it decodes and encodes."""

    source = "in"
    table = "kept"

    def __init__(self) -> None:
        """Nothing yet."""
        self.decoded = 0
        self.encoded = 0

    def fold(self, record: Input, read: Callable[[str], Entry | None], *, generation: int) -> Folded[Entry]:
        """Not used here."""
        raise NotImplementedError

    def encode(self, entry: Entry) -> bytes:
        """As JSON."""
        self.encoded += 1
        return json.dumps(entry).encode()

    def decode(self, value: bytes) -> Entry:
        """From JSON."""
        self.decoded += 1
        decoded: Entry = json.loads(value)
        return decoded


_KEY = b"an account of some length/91234567890/connection/a run's own name==/%08d"


def _write_many(path: Path, *, entries: int) -> None:
    """A database of one large file."""
    with closing(PartitionStore(path)) as store:
        for first in range(0, entries, 10_000):
            store.write(((_KEY % number, os.urandom(250)) for number in range(first, first + 10_000)), offset=first)
        store._db.compact_range(None, None)


def _bytes_read() -> int:
    """What this process has read from files until now."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PartitionStore]:
    """An open database."""
    opened = PartitionStore(tmp_path / "tables" / "kept-0.db")
    yield opened
    opened.close()


def over(store: PartitionStore, fold: KeepingFold, bookmark: Bookmark | None = None) -> Overlay[Entry]:
    """An overlay with a small cache."""
    return Overlay(fold=fold, store=store, bookmark=bookmark or Bookmark(), cache_entries=3)


def commit(overlay: Overlay[Entry], offset: int) -> list[tuple[bytes, bytes]]:
    """What a transaction does at its end."""
    changelog = overlay.changelog()
    overlay.persist(changelog_offset=offset)
    return changelog


def test_entries_and_offset_are_written_together(store: PartitionStore) -> None:
    """A database says up to which changelog offset it is complete, and the offset is no entry."""
    store.write([(b"k", b"1"), (b"gone", b"2")], offset=41)
    store.write([(b"gone", None)], offset=42)
    assert store.offset() == 42
    assert list(store.items()) == [(b"k", b"1")]


def test_a_database_has_one_owner(store: PartitionStore) -> None:
    """A second process, or a second opening, finds it locked, which is not for ever; a reader may look meanwhile."""
    store.write([(b"k", b"1")], offset=1)
    with pytest.raises(Unavailable, match="locked"):
        PartitionStore(store.path)
    reader = PartitionStore(store.path, read_only=True)
    assert reader.get(b"k") == b"1"
    reader.close()


def test_an_unwritable_folder_is_told(tmp_path: Path) -> None:
    """A folder that cannot be made ends the worker with the path and the reason."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Broken, match=r"cannot open the state in .*file/kept-0.db"):
        PartitionStore(tmp_path / "file" / "kept-0.db")


def test_an_iterator_that_was_left_holds_nothing(store: PartitionStore) -> None:
    """RocksDB's iterators keep the file's lock: one that a reader left in the middle must not."""
    store.write([(b"k%d" % number, b"v") for number in range(9)], offset=1)
    assert next(iter(store.items())) == (b"k0", b"v")
    store.close()
    PartitionStore(store.path).close()


def test_the_options_of_a_database_are_in_force(store: PartitionStore) -> None:
    """RocksDB itself says what is in force: a compaction that expires files would lose entries, and defaults take 2 GiB."""
    (options,) = store.path.glob("OPTIONS-*")
    kept = dict(line.strip().split("=", 1) for line in options.read_text().splitlines() if "=" in line)
    wanted = {
        "write_buffer_size": "16777216",
        "max_write_buffer_number": "2",
        "max_open_files": "256",
        "compaction_style": "kCompactionStyleLevel",
    }
    assert {name: kept[name] for name in wanted} == wanted


def test_a_look_up_reads_no_more_among_many_entries(tmp_path: Path) -> None:
    """Among so many entries that a file's index is large, an entry that was just read is had without a file."""
    path = tmp_path / "many"
    _write_many(path, entries=100_000)
    with closing(PartitionStore(path)) as store:
        keys = [_KEY % number for number in range(0, 100_000, 5_000)]
        first = [store.get(key) for key in keys]
        read_before = _bytes_read()
        assert [store.get(key) for key in keys] == first
        assert _bytes_read() - read_before < 100_000


def test_wiping_leaves_nothing(store: PartitionStore) -> None:
    """A wiped database is not there, and wiping what is not there is fine."""
    store.close()
    wipe(store.path)
    wipe(store.path)
    assert not store.path.exists()


def test_a_fold_sees_its_own_changes_before_they_are_committed(store: PartitionStore) -> None:
    """Reads go through the open transaction, and the disk knows nothing of it."""
    overlay = over(store, KeepingFold())
    overlay.change({"k": {"n": 1}}, revision=10)
    assert overlay.read("k") == {"n": 1}
    assert store.get(b"k") is None


def test_a_rollback_leaves_what_was_committed(store: PartitionStore) -> None:
    """After an abort a fold reads the entry as the last committed transaction left it."""
    overlay = over(store, KeepingFold())
    overlay.change({"k": {"n": 1}}, revision=10)
    commit(overlay, 5)
    overlay.change({"k": {"n": 2}, "new": {"n": 1}}, revision=11)
    overlay.rollback()
    assert (overlay.read("k"), overlay.read("new")) == ({"n": 1}, None)
    assert not overlay.is_changed


def test_one_changelog_record_per_key_and_transaction(store: PartitionStore) -> None:
    """A key that many records touched is encoded once, with the revision of the last of them."""
    fold = KeepingFold()
    overlay = over(store, fold, Bookmark(generation=2))
    for offset in range(100):
        overlay.change({"k": {"n": offset}}, revision=offset)
    ((key, value),) = commit(overlay, 7)
    generation, revision, entry = unpack(value)
    assert (key, generation, revision, json.loads(entry)) == (b"k", 2, 99, {"n": 99})
    assert fold.encoded == 1
    assert store.get(b"k") == value
    assert store.offset() == 7


def test_entries_are_decoded_once(store: PartitionStore) -> None:
    """An entry that is read again and again is decoded once; one that was used long ago is decoded again."""
    fold = KeepingFold()
    writer = over(store, fold)
    for number in range(20):
        writer.change({f"k{number}": {"n": number}}, revision=number)
    commit(writer, 1)
    overlay = over(store, fold)
    for _ in range(50):
        assert overlay.read("k7") == {"n": 7}
    assert fold.decoded == 1
    for number in range(20):
        assert overlay.read(f"k{number}") == {"n": number}
    before = fold.decoded
    assert overlay.read("k0") == {"n": 0}
    assert fold.decoded == before + 1


def test_memory_is_bounded(store: PartitionStore) -> None:
    """However many keys there are, twice the cache's entries stay decoded at most."""
    overlay = over(store, KeepingFold())
    for number in range(500):
        overlay.change({f"k{number}": {"n": number}}, revision=number)
        commit(overlay, number)
    assert len(overlay._recent) + len(overlay._older) <= 6


def test_a_refold_makes_entries_anew(store: PartitionStore) -> None:
    """Entries below the base generation count as absent, until the refold has written them."""
    fold = KeepingFold()
    before = over(store, fold)
    before.change({"k": {"n": 1}, "untouched": {"n": 1}}, revision=1)
    commit(before, 1)
    again = over(store, fold, Bookmark(generation=1, base=1))
    assert again.read("k") is None
    again.change({"k": {"n": 5}}, revision=0)
    commit(again, 2)
    assert over(store, fold, Bookmark(generation=1, base=1)).read("k") == {"n": 5}
    assert store.get(b"untouched") is not None
