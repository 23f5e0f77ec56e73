"""One partition of a source topic: its fold, its part of the table, and how far it has come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from confluent_kafka import TopicPartition

from schemas.errors import BadMessage, Broken
from streams.engine.batch import Record
from streams.engine.bookmark import Bookmark
from streams.engine.dead_letter_limit import DeadLetterCount, DeadLetterLimit
from streams.engine.overlay import Overlay
from streams.engine.producer import TransactionalProducer
from streams.fold import Fold, Input


class Source:
    """What a lane folds from one topic. `position` is the next offset to fold, `committed` the next after a restart."""

    def __init__(
        self,
        *,
        fold: Fold[Any],
        topic: str,
        changelog: str,
        partition: int,
        overlay: Overlay[Any],
        position: int,
        bookmark: Bookmark,
        limit: DeadLetterLimit,
    ) -> None:
        """`topic` and `changelog` are names on the cluster; `position` and `bookmark` are committed after the fence."""
        self.fold = fold
        self.topic = topic
        self.changelog = changelog
        self.partition = partition
        self.overlay = overlay
        self.position = self.committed = position
        self.generation = bookmark.generation
        self.count = DeadLetterCount(limit, of=str(self), run=bookmark.bad_run, bad=bookmark.bad, seen=bookmark.seen)
        self._bookmark = bookmark
        self.stage = f"streams.{fold.table}"
        self._changelog_offset: int | None = None

    def __str__(self) -> str:
        """Topic and partition, for messages."""
        return f"{self.topic}[{self.partition}]"

    def input(self, record: Record) -> Input:
        """The record as a fold takes it.

        Raises:
            BadMessage: no key, a key that is not UTF-8, or no value.
        """
        if record.key is None or record.value is None:
            raise BadMessage("has no key" if record.key is None else "has no value")
        try:
            key = record.key.decode()
        except UnicodeDecodeError as error:
            raise BadMessage("its key is not UTF-8") from error
        return Input(
            self.topic, self.partition, record.offset, record.timestamp, key, record.value, tuple(record.headers)
        )

    def offset(self) -> TopicPartition:
        """What the transaction commits: the position, with the bookmark as its metadata."""
        run, bad, seen = self.count.counts
        bookmark = replace(self._bookmark, bad_run=run, bad=bad, seen=seen)
        return TopicPartition(self.topic, self.partition, self.position, bookmark.text())

    def produce_changelog(self, producer: TransactionalProducer) -> None:
        """Put the changed entries into the transaction.

        Raises:
            Unavailable: the transaction must be aborted.
        """
        self._changelog_offset = None
        entries = self.overlay.changelog()
        if entries:
            messages: list[dict[str, Any]] = [{"key": key, "value": value} for key, value in entries]
            messages[-1]["callback"] = self._delivered
            producer.produce_batch(self.changelog, messages, partition=self.partition)

    def settle(self) -> None:
        """The transaction is committed: write RocksDB, and go on from here.

        Raises:
            Broken: the disk is full or fails; the changelog has everything.
        """
        if self.overlay.is_changed:
            if self._changelog_offset is None:
                raise Broken(f"{self}: committed, but the changelog's offset was not told")
            self.overlay.persist(changelog_offset=self._changelog_offset)
        self.count.commit()
        self.committed = self.position

    def rollback(self) -> None:
        """The transaction is aborted: back to what is committed."""
        self.overlay.rollback()
        self.count.rollback()
        self.position = self.committed

    def _delivered(self, error: object | None, message: Any) -> None:
        """The transaction's last changelog record has its offset, the greatest one: only this lane writes there."""
        if error is None:
            self._changelog_offset = message.offset()
