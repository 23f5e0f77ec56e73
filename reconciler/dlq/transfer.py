"""Dead letters as JSON lines, out of a cluster and into one.

A line holds the message whole (key, value and headers in base64), so that it can be put back even when retention has
removed it, and its content in plain, so that it can be read, and changed, with ordinary tools.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, TypeVar

import orjson

from reconciler.dlq.fetching import Fetcher
from reconciler.dlq.letters import Letter
from reconciler.dlq.reading import read, write
from reconciler.dlq.sending import KEYLESS, Parcel, Sender
from runtime.kafka.config import DEAD_LETTER_MAX_BYTES
from schemas.dead_letters import parse_dead_letter
from schemas.errors import BadMessage

T = TypeVar("T")

BATCH_LINES = 1_000
BATCH_BYTES = 64 * 1024 * 1024
LINE_BYTES = 16 * 1024 * 1024
"""The largest message, in base64, and beside it in plain with every character escaped."""


def exported(letters: Iterable[Letter], fetcher: Fetcher) -> Iterator[bytes]:
    """A JSON line for each of these that is still in the topic."""
    for batch in parts(letters, size=lambda letter: letter.size_bytes):
        messages = fetcher.fetch((each.letter_partition, each.letter_offset) for each in batch)
        for letter in batch:
            message = messages.get((letter.letter_partition, letter.letter_offset))
            if message is not None:
                yield orjson.dumps(letter.as_plain() | _whole(letter, message), option=orjson.OPT_APPEND_NEWLINE)


def imported(lines: IO[bytes], sender: Sender, *, topic: str) -> int:
    """Put these lines' messages on the topic of dead letters, whence the ledger has them; how many there were.

    Raises:
        BadMessage: a line is not one that `exported` wrote; those of the batches before it are there.
    """
    count = 0
    for batch in parts(bounded(lines), size=lambda numbered: len(numbered[1])):
        sender.send([_parcel(line, number=number, topic=topic) for number, line in batch])
        count += len(batch)
    return count


def bounded(lines: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines, numbered from 1.

    Raises:
        BadMessage: one is longer than any that `exported` writes.
    """
    for number in itertools.count(1):
        line = lines.readline(LINE_BYTES + 1)
        if len(line) > LINE_BYTES:
            raise BadMessage(f"line {number}: more than {LINE_BYTES} bytes")
        if not line:
            return
        yield number, line


def parts(items: Iterable[T], *, size: Callable[[T], int]) -> Iterator[list[T]]:
    """These, in lists that are bounded in number and bytes."""
    part: list[T] = []
    total = 0
    for item in items:
        if part and (len(part) >= BATCH_LINES or total + size(item) > BATCH_BYTES):
            yield part
            part, total = [], 0
        part.append(item)
        total += size(item)
    if part:
        yield part


def _whole(letter: Letter, message: Any) -> dict[str, Any]:
    value = letter.value_in(message)
    reading = read(value)
    return {
        "key_base64": _encoded(message.key()),
        "value_base64": _encoded(value),
        "headers_base64": [[name, _encoded(each)] for name, each in message.headers() or ()],
        "kind": reading.kind,
        "content": reading.content,
    }


def _parcel(line: bytes, *, number: int, topic: str) -> Parcel:
    try:
        plain = orjson.loads(line)
        headers = [(str(name), _decoded(value) or b"") for name, value in plain["headers_base64"]]
        parse_dead_letter(headers)
        key, value = _decoded(plain["key_base64"]), _decoded(plain["value_base64"])
        reading = read(value)
        if reading.editable and plain.get("content", reading.content) != reading.content:
            value = write(reading, plain["content"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, BadMessage) as error:
        raise BadMessage(f"line {number}: {type(error).__name__} {error}") from error
    if len(value or b"") > DEAD_LETTER_MAX_BYTES:
        raise BadMessage(f"line {number}: its value is larger than {DEAD_LETTER_MAX_BYTES} bytes")
    return Parcel(topic=topic, partition=KEYLESS, key=key, value=value, headers=headers)


def _encoded(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
