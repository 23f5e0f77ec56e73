"""The records of this benchmark as plain dictionaries, in Avro's binary encoding without a header.

Needs fastavro alone, since the peers' own environments import it too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer

Plain = dict[str, Any]

_RECORDS = Path(__file__).with_name("records")


def schema(record: str) -> Any:
    """The schema in `records/<record>.avsc`, as JSON has it."""
    return json.loads((_RECORDS / f"{record}.avsc").read_text(encoding="utf-8"))


def codec(record: str) -> tuple[Callable[[Plain], bytes], Callable[[bytes], Plain]]:
    """How to encode and how to decode a record."""
    parsed = parse_schema(schema(record))

    def encode(plain: Plain) -> bytes:
        out = BytesIO()
        schemaless_writer(out, parsed, plain)
        return out.getvalue()

    def decode(value: bytes) -> Plain:
        plain: Plain = schemaless_reader(BytesIO(value), parsed, None)  # type: ignore[assignment]  # a record is a dictionary
        return plain

    return encode, decode


encode_event, decode_event = codec("Event")
encode_status, decode_status = codec("Status")
encode_answer, decode_answer = codec("Answer")
