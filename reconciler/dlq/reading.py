"""The content of a dead letter for people: decoded as far as can be, with the bytes beside it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import orjson

from schemas.catalogue import RECORDS
from schemas.codec import decode, encode
from schemas.errors import BadMessage, DecodeError

HEX_BYTES = 512
"""More of a message than this is not shown as bytes."""
_LINE_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a value was found to be."""

    kind: str
    """The record's name, `json`, `text` or `bytes`."""
    content: Any
    """Plain values of a record or of JSON; the text; None of bytes."""

    @property
    def editable(self) -> bool:
        """Whether single values of it can be changed."""
        return self.kind == "json" or self.kind in RECORDS


def read(value: bytes | None) -> Reading:
    """The value, decoded as far as it can be."""
    if value is None:
        return Reading(kind="bytes", content=None)
    try:
        record: object = decode(value, *RECORDS.values())
        return Reading(kind=type(record).__name__, content=to_plain(record))
    except DecodeError:
        pass
    try:
        return Reading(kind="json", content=orjson.loads(value))
    except orjson.JSONDecodeError:
        pass
    try:
        return Reading(kind="text", content=value.decode())
    except UnicodeDecodeError:
        return Reading(kind="bytes", content=None)


def write(reading: Reading, content: Any) -> bytes:
    """The bytes of a value of this kind with other content.

    Raises:
        BadMessage: the content does not fit the record; the message names the field.
    """
    if reading.kind in RECORDS:
        try:
            return encode(_from_plain(RECORDS[reading.kind], content, path=reading.kind))
        except ValueError as error:
            raise BadMessage(f"{reading.kind}: {error}") from error
    if reading.kind == "json":
        return orjson.dumps(content)
    return str(content).encode()


def to_plain(value: Any) -> Any:
    """For JSON: times as text, bytes in base64."""
    if is_dataclass(value):
        return {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, tuple | list):
        return [to_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: to_plain(each) for key, each in value.items()}
    return value


def hex_lines(value: bytes) -> Iterator[str]:
    """The first bytes as offset, hexadecimal and text."""
    for first in range(0, min(len(value), HEX_BYTES), _LINE_BYTES):
        line = value[first : first + _LINE_BYTES]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in line)
        yield f"{first:08x}  {line.hex(' '):<47}  {text}"
    if len(value) > HEX_BYTES:
        yield f"... {len(value) - HEX_BYTES} bytes more"


def _from_plain(hint: Any, plain: Any, *, path: str) -> Any:
    """The inverse of `to_plain` for this type."""
    if is_dataclass(hint):
        return _record_from_plain(hint, plain, path=path)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        inner = next(each for each in arguments if each is not NoneType)
        return None if plain is None else _from_plain(inner, plain, path=path)
    if origin is tuple and isinstance(plain, list):
        return tuple(_from_plain(arguments[0], each, path=f"{path}[{at}]") for at, each in enumerate(plain))
    if origin is dict and isinstance(plain, dict):
        return {key: _from_plain(arguments[1], each, path=f"{path}.{key}") for key, each in plain.items()}
    return _scalar(hint, plain, path=path)


def _record_from_plain(record: Any, plain: Any, *, path: str) -> Any:
    if not isinstance(plain, dict):
        raise BadMessage(f"{path}: must be an object")
    hints = get_type_hints(record)
    names = [each.name for each in fields(record)]
    if unknown := sorted(set(plain) - set(names)):
        raise BadMessage(f"{path}.{unknown[0]}: there is no such field")
    if missing := [name for name in names if name not in plain]:
        raise BadMessage(f"{path}.{missing[0]}: missing")
    return record(**{name: _from_plain(hints[name], plain[name], path=f"{path}.{name}") for name in names})


def _scalar(hint: Any, plain: Any, *, path: str) -> Any:
    try:
        if hint is datetime:
            at = datetime.fromisoformat(plain)
            if at.tzinfo is None:
                raise BadMessage(f"{path}: needs an offset from UTC")
            return at
        if hint is bytes:
            return base64.b64decode(plain, validate=True)
    except (ValueError, TypeError) as error:
        raise BadMessage(f"{path}: {error}") from error
    if not isinstance(plain, hint) or (hint is int and isinstance(plain, bool)):
        raise BadMessage(f"{path}: must be of type {hint.__name__}")
    return plain
