"""Dead letters as JSON lines, out of a cluster and into one.

A line holds the message whole (key, value and headers in base64), so that it can be put back even when retention has
removed it, and its content in plain, so that it can be read, and changed, with ordinary tools.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import orjson

from reconciler.dlq.fetching import Fetcher
from reconciler.dlq.letters import Letter
from reconciler.dlq.reading import read, write
from reconciler.dlq.sending import KEYLESS, Parcel, Sender
from schemas.dead_letters import parse_dead_letter
from schemas.errors import BadMessage

BATCH_LINES = 1_000


def exported(letters: Iterable[Letter], fetcher: Fetcher) -> Iterator[bytes]:
    """A JSON line for each of these that is still in the topic."""
    rest = iter(letters)
    while batch := list(islice(rest, BATCH_LINES)):
        messages = fetcher.fetch((each.letter_partition, each.letter_offset) for each in batch)
        for letter in batch:
            message = messages.get((letter.letter_partition, letter.letter_offset))
            if message is not None:
                yield orjson.dumps(letter.as_plain() | _whole(letter, message), option=orjson.OPT_APPEND_NEWLINE)


def imported(lines: Iterable[bytes], sender: Sender, *, topic: str) -> int:
    """Put these lines' messages on the topic of dead letters, whence the ledger has them; how many there were.

    Raises:
        BadMessage: a line is not one that `exported` wrote; those of the batches before it are there.
    """
    count = 0
    rest = enumerate(lines, start=1)
    while batch := list(islice(rest, BATCH_LINES)):
        sender.send([_parcel(line, number=number, topic=topic) for number, line in batch])
        count += len(batch)
    return count


def _whole(letter: Letter, message: Any) -> dict[str, Any]:
    value = message.value() if letter.edited_value is None else letter.edited_value
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
    return Parcel(topic=topic, partition=KEYLESS, key=key, value=value, headers=headers)


def _encoded(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
