"""RocksDB for one partition of a table: entries by key, and the offset in the changelog up to which they are complete.

Guarantees: entries and offset are written in one atomic batch, so the state is always a whole prefix of the changelog.
Nothing is forced to the disk: after a crash of the machine RocksDB opens at an earlier one, and the rest is restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import cast

from rocksdict import AccessType, BlockBasedIndexType, BlockBasedOptions, Cache, Options, Rdict, WriteBatch

from schemas.errors import Broken, Unavailable

OFFSET_KEY = b"__faust\0offset__"
"""Where Faust's own RocksDB store keeps the offset, so that its tools can read ours."""
BLOCK_CACHE_BYTES = 32 * 1024**2
WRITE_BUFFER_BYTES = 16 * 1024**2
"""With two of them and the cache a partition stays under 64 MiB; RocksDB's and Faust's defaults may take 2 GiB."""
WRITE_BUFFERS = 2
OPEN_FILES = 256
BLOOM_BITS = 10
"""One in a hundred look-ups of a key that is not there reads a block in vain."""
METADATA_BLOCK_BYTES = 4096
"""Indices and filters are cached in pieces. Whole, those of a file of a hundred thousand entries are larger than one of
the cache's shards, are never kept, and are read anew for each look-up: 300 microseconds in place of 8."""
MEMORY_BLOOM_SHARE = 0.02
"""Of a write buffer: every other event looks for a connection that nobody heard of, and finds that out in a quarter of
the time."""
LOG_BYTES = 1024**2
LOG_FILES = 2


class PartitionStore:
    """An open database. Close it before another process may open it; iterators must be gone by then."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open, and create unless `read_only`.

        Raises:
            Unavailable: another process has it open.
            Broken: the folder cannot be written, or the files are damaged.
        """
        self.path = path
        self._closed = False
        self._reading = _Translated(path, doing="read")
        access = AccessType.read_only(error_if_log_file_exist=False) if read_only else AccessType.read_write()
        with _Translated(path, doing="open"):
            if not read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = Rdict(str(path), options=_options(create=not read_only), access_type=access)

    def get(self, key: bytes) -> bytes | None:
        """The value of a key."""
        with self._reading:
            value: bytes | None = self._db.get(key)
        return value

    def offset(self) -> int | None:
        """Offset of the last changelog record that is contained; None when nothing is."""
        value = self.get(OFFSET_KEY)
        return None if value is None else int(value)

    def write(self, entries: Iterable[tuple[bytes, bytes | None]], *, offset: int) -> None:
        """Put entries (None deletes) and the changelog's offset, all or none.

        Raises:
            Broken: the disk is full or fails.
        """
        batch = WriteBatch(raw_mode=True)
        for key, value in entries:
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        batch.put(OFFSET_KEY, b"%d" % offset)
        with _Translated(self.path, doing="write"):
            self._db.write(batch)

    def items(self, *, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Entries whose keys begin with `prefix`, in the order of their keys."""
        with self._reading:
            found = cast("Iterator[tuple[bytes, bytes]]", self._db.items(from_key=prefix))
            for key, value in found:
                if not key.startswith(prefix):
                    return
                if key != OFFSET_KEY:
                    yield key, value

    def close(self) -> None:
        """Close and release the lock. Closing twice is harmless."""
        if not self._closed:
            self._closed = True
            with _Translated(self.path, doing="close"):
                self._db.close()


def partition_path(data_dir: Path, *, table: str, partition: int) -> Path:
    """Where the database of a table's partition lies: where Faust's own store would put it."""
    return data_dir / "v1" / "tables" / f"{table}-{partition}.db"


def wipe(path: Path) -> None:
    """Remove a closed database from the disk."""
    with _Translated(path, doing="remove"):
        if path.exists():
            rmtree(path)


def _options(*, create: bool) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(create)
    options.set_max_open_files(OPEN_FILES)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_max_write_buffer_number(WRITE_BUFFERS)
    options.set_memtable_prefix_bloom_ratio(MEMORY_BLOOM_SHARE)
    options.set_memtable_whole_key_filtering(True)
    options.set_max_log_file_size(LOG_BYTES)
    options.set_keep_log_file_num(LOG_FILES)
    blocks = BlockBasedOptions()
    blocks.set_bloom_filter(BLOOM_BITS, block_based=False)
    blocks.set_block_cache(Cache(BLOCK_CACHE_BYTES))
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
    blocks.set_partition_filters(True)
    blocks.set_metadata_block_size(METADATA_BLOCK_BYTES)
    blocks.set_pin_top_level_index_and_filter(True)
    options.set_block_based_table_factory(blocks)
    return options


class _Translated:
    """Translates what rocksdict raises, which is a bare `Exception` with RocksDB's status as its text.

    Made once and entered often: a generator would take longer than the look-up of a key.
    """

    __slots__ = ("_doing", "_path")

    def __init__(self, path: Path, *, doing: str) -> None:
        self._path = path
        self._doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if isinstance(error, OSError):
            raise Broken(f"cannot {self._doing} the state in {self._path}: {error.strerror}") from error
        if type(error) is not Exception and type(error).__module__ != "rocksdict":
            return
        if "lock" in str(error).lower():
            raise Unavailable(f"the state in {self._path} is locked: another process has it open") from error
        raise Broken(f"cannot {self._doing} the state in {self._path}: {error}") from error
