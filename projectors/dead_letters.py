"""The projection of `dead-letters`: the ledger, one row for each message that failed, through all its returns.

Guarantees: the same failure seen twice is one row; a return raises the row's attempt, opens it again, and holds it
past a number of returns. What operators did (replayed, discarded, edited) is kept until the message fails again. Rows
are locked in the order of their origins, as replays lock them, so that neither waits for the other in a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import Cursor

from projectors.projection import Consumed, Decoded
from runtime.cipher import SEALED_HEADER
from runtime.queries import queries
from runtime.topics import DEAD_LETTERS
from schemas.dead_letters import DeadLetterHeaders, letter_id_of, parse_dead_letter

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_MS = 253_402_300_799_999


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A dead letter as its headers tell it."""

    headers: DeadLetterHeaders
    sealed: bool


class LedgerProjection:
    """Writes the ledger of dead letters."""

    name = "dead_letters"
    topic = DEAD_LETTERS

    def __init__(self, *, topic_prefix: str, held_after_returns: int) -> None:
        """`topic_prefix` is taken off the topics' names; a message that came back so often is held."""
        self._prefix = topic_prefix
        self._held_after = held_after_returns

    def decode(self, consumed: Consumed) -> DeadLetter:
        """What the headers say.

        Raises:
            BadMessage: they are not those of a dead letter.
        """
        sealed = any(name == SEALED_HEADER for name, _ in consumed.headers)
        return DeadLetter(headers=parse_dead_letter(consumed.headers), sealed=sealed)

    def apply(self, cursor: Cursor[Any], batch: Sequence[Decoded[DeadLetter]]) -> None:
        """Write a row for each message, from its newest copy."""
        newest: dict[str, Decoded[DeadLetter]] = {}
        for each in batch:
            letter_id = letter_id_of(each.record.headers)
            known = newest.get(letter_id)
            if known is None or _age(known) <= _age(each):
                newest[letter_id] = each
        rows = sorted((self._row(letter_id, each) for letter_id, each in newest.items()), key=_origin)
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        cursor.execute(queries("projectors")["upsert_dead_letters"], columns)

    def _row(self, letter_id: str, letter: Decoded[DeadLetter]) -> dict[str, Any]:
        consumed, headers = letter.consumed, letter.record.headers
        first, last = headers.first, headers.failure
        return {
            "letter_id": letter_id,
            "topic": _text(first.origin.topic.removeprefix(self._prefix)),
            "partition": first.origin.partition,
            "at_offset": first.origin.offset,
            "happened_at": _EPOCH + timedelta(milliseconds=min(max(first.origin.timestamp_ms, 0), _LATEST_MS)),
            "stage": _text(last.stage),
            "error_class": _text(last.error_class),
            "error_message": _text(last.message),
            "first_failed_at": first.failed_at,
            "failed_at": last.failed_at,
            "attempt": last.attempt,
            "failed_job": None if last.job is None else _text(last.job),
            "message_key": consumed.key,
            "key_text": _key_text(consumed.key),
            "size_bytes": len(consumed.value or b""),
            "sealed": letter.record.sealed,
            "letter_partition": consumed.partition,
            "letter_offset": consumed.offset,
            "status": "held" if last.attempt > self._held_after else "open",
        }


def _age(letter: Decoded[DeadLetter]) -> tuple[int, int]:
    return letter.record.headers.failure.attempt, letter.consumed.offset


def _origin(row: dict[str, Any]) -> tuple[str, int, int, str]:
    return row["topic"], row["partition"], row["at_offset"], row["letter_id"]


def _key_text(key: bytes | None) -> str | None:
    try:
        return None if key is None or b"\0" in key else key.decode()
    except UnicodeDecodeError:
        return None


def _text(text: str) -> str:
    """Without what the database refuses in a text."""
    return text.replace("\0", "\ufffd")
