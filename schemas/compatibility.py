"""Whether a reader with one schema understands what a writer with another wrote, by Avro's rules of schema resolution.

Stricter than they are in one point: a logical type must stay as it is, for a time in other units would be read wrongly.
Source: Apache Avro specification 1.12, "Schema Resolution".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

PROMOTIONS: Mapping[str, frozenset[str]] = {
    "int": frozenset({"long", "float", "double"}),
    "long": frozenset({"float", "double"}),
    "float": frozenset({"double"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}
_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})

Named = dict[str, Any]


def incompatibilities(*, reader: Any, writer: Any) -> list[str]:
    """Why `reader` cannot read all that `writer` may have written, a line for each place; empty when it can.

    Both are schemas as JSON values, whole, with each named type defined at its first use; no type may hold itself.
    """
    return list(_compare(reader, writer, _Names(reader), _Names(writer), path=_name(reader)))


class _Names:
    """The named types of one schema, found by a walk over all of it."""

    def __init__(self, schema: Any) -> None:
        self._found: Named = {}
        self._walk(schema)

    def resolve(self, schema: Any) -> Any:
        """The definition behind a name; anything else as it is."""
        if isinstance(schema, str) and schema not in _PRIMITIVES:
            return self._found[_short(schema)]
        return schema

    def _walk(self, schema: Any) -> None:
        if isinstance(schema, list):
            for branch in schema:
                self._walk(branch)
        elif isinstance(schema, dict):
            if "name" in schema:
                self._found[_name(schema)] = schema
            for part in (
                schema.get("items"),
                schema.get("values"),
                *(each["type"] for each in schema.get("fields", ())),
            ):
                self._walk(part)


def _compare(reader: Any, writer: Any, known: _Names, written: _Names, *, path: str) -> Iterator[str]:
    reader, writer = known.resolve(reader), written.resolve(writer)
    if isinstance(writer, list):
        for branch in writer:
            yield from _compare(reader, branch, known, written, path=path)
    elif isinstance(reader, list):
        attempts = [list(_compare(branch, writer, known, written, path=path)) for branch in reader]
        if all(attempts):
            yield f"{path}: no branch of the reader's union takes a {_kind(writer)}"
    elif _logical(reader) != _logical(writer):
        yield f"{path}: {_logical(writer)} became {_logical(reader)}"
    elif _kind(reader) != _kind(writer):
        if _kind(reader) not in PROMOTIONS.get(_kind(writer), frozenset()):
            yield f"{path}: {_kind(writer)} became {_kind(reader)}"
    else:
        yield from _compare_alike(reader, writer, known, written, path=path)


def _compare_alike(reader: Any, writer: Any, known: _Names, written: _Names, *, path: str) -> Iterator[str]:
    match _kind(reader):
        case "record":
            yield from _compare_records(reader, writer, known, written, path=path)
        case "enum":
            unknown = set(writer["symbols"]) - set(reader["symbols"])
            if unknown and "default" not in reader:
                yield f"{path}: symbols {sorted(unknown)} are unknown to the reader, which has no default"
        case "array":
            yield from _compare(reader["items"], writer["items"], known, written, path=f"{path}[]")
        case "map":
            yield from _compare(reader["values"], writer["values"], known, written, path=f"{path}{{}}")
        case "fixed":
            if reader["size"] != writer["size"]:
                yield f"{path}: {writer['size']} bytes became {reader['size']}"
        case _:
            return


def _compare_records(reader: Any, writer: Any, known: _Names, written: _Names, *, path: str) -> Iterator[str]:
    if _name(reader) != _name(writer):
        yield f"{path}: {_name(writer)} became {_name(reader)}"
        return
    theirs = {each["name"]: each for each in writer["fields"]}
    for field in reader["fields"]:
        place = f"{path}.{field['name']}"
        if field["name"] in theirs:
            yield from _compare(field["type"], theirs[field["name"]]["type"], known, written, path=place)
        elif "default" not in field:
            yield f"{place}: new, and without a default for records that were written before it"


def _kind(schema: Any) -> str:
    return schema if isinstance(schema, str) else str(schema["type"])


def _logical(schema: Any) -> str | None:
    return schema.get("logicalType") if isinstance(schema, dict) else None


def _name(schema: Any) -> str:
    return _short(schema["name"]) if isinstance(schema, dict) and "name" in schema else _kind(schema)


def _short(name: str) -> str:
    return name.rpartition(".")[2]
