"""Bytes to records and back: Avro single-object encoding (C3 01, the schema's CRC-64-AVRO fingerprint, the body).

Nothing else need run to read a record: every schema ever used lies in `schemas/avsc`, one file per record and version,
and the greatest version is today's. Whatever is wrong with the bytes, `decode` raises one `DecodeError`.
Source: Apache Avro specification 1.12, "Single-object encoding".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any, TypeVar

from fastavro import parse_schema, schemaless_reader
from fastavro.schema import fingerprint, to_parsing_canonical_form

from schemas.binary import Coder, coder_of
from schemas.catalogue import RECORDS
from schemas.errors import DecodeError
from schemas.mapping import from_avro

R = TypeVar("R")

MARKER = b"\xc3\x01"
HEADER_BYTES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One version of one record's schema."""

    record: str
    version: int
    parsed: Any
    header: bytes
    """Marker and fingerprint: how every encoded record of this version begins."""


@cache
def _schemas() -> tuple[Mapping[bytes, Schema], Mapping[str, Schema]]:
    """All versions by header, and today's version by record name."""
    by_header: dict[bytes, Schema] = {}
    today: dict[str, Schema] = {}
    for schema in load(name_and_text()):
        by_header[schema.header] = schema
        if schema.record not in today or today[schema.record].version < schema.version:
            today[schema.record] = schema
    return by_header, today


def name_and_text() -> Iterable[tuple[str, str]]:
    """The schema files of this package: (`Record.vN.avsc`, its text)."""
    for file in sorted(files("schemas").joinpath("avsc").iterdir(), key=lambda found: found.name):
        if file.name.endswith(".avsc"):
            yield file.name, file.read_text(encoding="utf-8")


def load(sources: Iterable[tuple[str, str]]) -> Iterable[Schema]:
    """Parse schema files; the record and version come from the file's name."""
    for name, text in sources:
        record, version, _ = name.split(".")
        raw = json.loads(text)
        canonical = to_parsing_canonical_form(raw)
        yield Schema(
            record=record,
            version=int(version.removeprefix("v")),
            parsed=parse_schema(raw),
            header=MARKER + bytes.fromhex(fingerprint(canonical, "CRC-64-AVRO")),
        )


def encode(record: object) -> bytes:
    """The record in single-object encoding, under today's schema.

    Raises:
        ValueError: a field holds what its schema cannot, which is a fault of the program.
    """
    record_class: Any = type(record)
    schema = _schemas()[1][record_class.__name__]
    return schema.header + coder_of(record_class).encode(record)


def decode(value: bytes | None, *expected: type[R]) -> R:
    """The record in these bytes, one of the `expected` classes, read with today's schema whichever version wrote it.

    Raises:
        DecodeError: no bytes, no marker, an unknown fingerprint, another record, truncated or trailing bytes.
    """
    if value is None or len(value) < HEADER_BYTES or not value.startswith(MARKER):
        raise DecodeError("not in single-object encoding: the first two bytes must be C3 01 and ten must be there")
    by_header, today = _schemas()
    writer = by_header.get(bytes(value[:HEADER_BYTES]))
    if writer is None:
        raise DecodeError(f"unknown schema fingerprint {value[2:HEADER_BYTES].hex()}: written by a newer version?")
    wanted: Any = RECORDS[writer.record]
    if wanted not in expected:
        names = " or ".join(each.__name__ for each in expected)
        raise DecodeError(f"holds a {writer.record} where {names} belongs")
    reader = today[writer.record]
    found: R = (
        _read(value, coder_of(wanted))
        if writer is reader
        else from_avro(wanted, resolve(value, writer=writer, reader=reader))
    )
    return found


@cache
def header(record: type) -> bytes:
    """Marker and fingerprint with which every record of this class begins that is written today."""
    return _schemas()[1][record.__name__].header


def _read(value: bytes, coder: Coder[R]) -> R:
    try:
        record, end = coder.decode(value, HEADER_BYTES)
    except (IndexError, ValueError, OverflowError) as error:
        raise DecodeError(f"truncated or damaged {coder.name}: {type(error).__name__}") from error
    if end != len(value):
        problem = f"{len(value) - end} bytes after the end of the" if end < len(value) else "truncated or damaged"
        raise DecodeError(f"{problem} {coder.name}")
    return record


def resolve(value: bytes, *, writer: Schema, reader: Schema) -> Any:
    """The plain values in these bytes, as the reader's version names and fills them.

    Raises:
        DecodeError: truncated, damaged or trailing bytes.
    """
    body = BytesIO(value)
    body.seek(HEADER_BYTES)
    same = None if writer is reader else reader.parsed
    try:
        read = schemaless_reader(body, writer.parsed, same)
    except (EOFError, ValueError, TypeError, IndexError, KeyError, OverflowError, MemoryError) as error:
        raise DecodeError(f"truncated or damaged {writer.record}: {type(error).__name__}") from error
    if body.tell() != len(value):
        raise DecodeError(f"{len(value) - body.tell()} bytes after the end of the {writer.record}")
    return read
