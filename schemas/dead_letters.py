"""The headers of a dead letter: where the message came from, who could not use it, why, when, and how often by now.

A dead letter is the message itself: key, value and headers stay as they were, and headers with the prefix
`roomkeeper-dl-` are put beside them. A message that was replayed carries those of its last failure along; when it fails
again, that failure becomes a line of its history and the attempt is one higher. These headers are the authority on a
dead letter; the ledger in the database is made from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from schemas.errors import DecodeError
from schemas.ids import derive

PREFIX = "roomkeeper-dl-"
REPLAY_HEADER = PREFIX + "replay"
"""Put on a message by the replay that sends it back, with the job's name; the next failure names it as its job."""
MESSAGE_CHARS = 500
"""An error's text is cut here: it explains, it is no copy of the message."""
HISTORY_LINES = 16
"""The first failure and the newest fifteen before the present one."""

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Coordinates of the record that failed; a body that came over HTTP has partition and offset -1."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One time that a message could not be used."""

    origin: Origin
    stage: str
    """Who could not use it, such as `ingress`, `streams.rooms` or `projectors.rooms`."""
    error_class: str
    message: str
    failed_at: datetime
    attempt: int
    """1 the first time."""
    job: str | None = None
    """The replay that brought the message back before it failed; None the first time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterHeaders:
    """What the headers of a dead letter say."""

    failure: Failure
    history: tuple[Failure, ...]
    """Earlier failures of the same message, oldest first; at most `HISTORY_LINES`."""

    @property
    def first(self) -> Failure:
        """The first failure: its origin and stage name the message through all its returns."""
        return self.history[0] if self.history else self.failure


def dead_letter_headers(
    *, origin: Origin, stage: str, error: Exception, failed_at: datetime, previous: Headers = ()
) -> list[tuple[str, bytes]]:
    """All headers of the dead letter: the `previous` ones of the message, and this failure's beside them.

    A header without a value gets an empty one. Damaged dead-letter headers among `previous` are left out, for anybody
    may send headers.
    """
    history = _history(previous)
    failure = Failure(
        origin=origin,
        stage=stage,
        error_class=type(error).__name__,
        message=str(error)[:MESSAGE_CHARS],
        failed_at=failed_at,
        attempt=history[-1].attempt + 1 if history else 1,
        job=_job(previous) if history else None,
    )
    headers = original_headers(previous)
    headers += [(PREFIX + name, str(value).encode()) for name, value in _plain(failure).items()]
    if history:
        lines = "\n".join(json.dumps(_plain(each), separators=(",", ":")) for each in history)
        headers.append((PREFIX + "history", lines.encode()))
    return headers


def original_headers(headers: Headers) -> list[tuple[str, bytes]]:
    """The headers that the message had of itself."""
    return [(name, value or b"") for name, value in headers if not name.startswith(PREFIX)]


def parse_dead_letter(headers: Headers) -> DeadLetterHeaders:
    """What the headers of a dead letter say.

    Raises:
        DecodeError: a header is missing or damaged: this is no dead letter.
    """
    found = {name.removeprefix(PREFIX): value or b"" for name, value in headers if name.startswith(PREFIX)}
    try:
        lines = found.pop("history", b"").decode().splitlines()
        return DeadLetterHeaders(
            failure=_failure({name: value.decode() for name, value in found.items()}),
            history=tuple(_failure(json.loads(line)) for line in lines),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise DecodeError(f"not the headers of a dead letter: {type(error).__name__} {error}") from error


def letter_id_of(headers: DeadLetterHeaders) -> str:
    """Names the message through all its returns: a UUID of where it first failed, or of when if it was no record."""
    first = headers.first
    origin = first.origin
    moment = "" if origin.offset >= 0 else first.failed_at.isoformat()
    return derive("dead-letter", origin.topic, str(origin.partition), str(origin.offset), first.stage, moment)


def carries_failure(headers: Iterable[tuple[str, bytes | None]]) -> bool:
    """Whether the message has been a dead letter before."""
    return any(name == PREFIX + "attempt" for name, _ in headers)


def _history(previous: Headers) -> tuple[Failure, ...]:
    """The failures before this one, from what a replayed message carries along."""
    try:
        earlier = parse_dead_letter(previous)
    except DecodeError:
        return ()
    lines = (*earlier.history, earlier.failure)
    return lines if len(lines) <= HISTORY_LINES else (lines[0], *lines[1 - HISTORY_LINES :])


def _job(previous: Headers) -> str | None:
    found = next((value for name, value in previous if name == REPLAY_HEADER and value), None)
    return None if found is None else found.decode(errors="replace")


def _plain(failure: Failure) -> dict[str, str | int]:
    job: dict[str, str | int] = {} if failure.job is None else {"job": failure.job}
    return job | {
        "topic": failure.origin.topic,
        "partition": failure.origin.partition,
        "offset": failure.origin.offset,
        "timestamp-ms": failure.origin.timestamp_ms,
        "stage": failure.stage,
        "error-class": failure.error_class,
        "message": failure.message,
        "failed-at": failure.failed_at.astimezone(UTC).isoformat(timespec="milliseconds"),
        "attempt": failure.attempt,
    }


def _failure(plain: dict[str, Any]) -> Failure:
    return Failure(
        origin=Origin(
            topic=plain["topic"],
            partition=int(plain["partition"]),
            offset=int(plain["offset"]),
            timestamp_ms=int(plain["timestamp-ms"]),
        ),
        stage=plain["stage"],
        error_class=plain["error-class"],
        message=plain["message"],
        failed_at=datetime.fromisoformat(plain["failed-at"]),
        attempt=int(plain["attempt"]),
        job=plain.get("job"),
    )
