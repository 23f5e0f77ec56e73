"""Between dataclasses and the plain values that fastavro reads and writes.

A converter is built once per class from its annotations; a field that needs no conversion costs one attribute look-up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

R = TypeVar("R")
Convert = Callable[[Any], Any]


def to_avro(record: Any) -> dict[str, Any]:
    """The record as nested dictionaries, lists and scalars."""
    kind: Any = type(record)
    plain: dict[str, Any] = {name: getattr(record, name) for name in _names(kind)}
    for name, convert in _outward(kind):
        plain[name] = convert(plain[name])
    return plain


def from_avro(record: type[R], plain: dict[str, Any]) -> R:
    """The record that these nested plain values are."""
    kind: Any = record
    for name, convert in _inward(kind):
        plain[name] = convert(plain[name])
    return record(**plain)


@cache
def _names(record: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(record))


@cache
def _outward(record: Any) -> tuple[tuple[str, Convert], ...]:
    hints = get_type_hints(record)
    found = ((name, _converter(hints[name], nested=lambda _: to_avro, sequence=list)) for name in _names(record))
    return tuple((name, convert) for name, convert in found if convert is not None)


@cache
def _inward(record: Any) -> tuple[tuple[str, Convert], ...]:
    hints = get_type_hints(record)
    found = (
        (name, _converter(hints[name], nested=lambda cls: lambda plain: from_avro(cls, plain), sequence=tuple))
        for name in _names(record)
    )
    return tuple((name, convert) for name, convert in found if convert is not None)


def _converter(hint: Any, *, nested: Callable[[Any], Convert], sequence: Convert) -> Convert | None:
    """What to apply to a value of this type; None where it stays as it is."""
    if is_dataclass(hint):
        return nested(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return _optional(next(each for each in arguments if each is not NoneType), nested=nested, sequence=sequence)
    if origin is tuple:
        return _sequence(_converter(arguments[0], nested=nested, sequence=sequence), sequence)
    if origin is dict:
        inner = _converter(arguments[1], nested=nested, sequence=sequence)
        return None if inner is None else lambda many: {key: inner(value) for key, value in many.items()}
    return None


def _sequence(inner: Convert | None, sequence: Convert) -> Convert:
    return sequence if inner is None else lambda many: sequence(map(inner, many))


def _optional(hint: Any, *, nested: Callable[[Any], Convert], sequence: Convert) -> Convert | None:
    inner = _converter(hint, nested=nested, sequence=sequence)
    return None if inner is None else lambda value: None if value is None else inner(value)
