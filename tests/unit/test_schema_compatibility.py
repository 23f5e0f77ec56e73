"""Old records stay readable: every version on file, and the ways in which a schema may and may not change (ZC56)."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import MISSING, Field, fields, is_dataclass
from io import BytesIO
from typing import Any, get_args, get_type_hints

import pytest
from fastavro import schemaless_writer
from fastavro.read import SchemaResolutionError
from fastavro.utils import generate_many

from schemas.catalogue import RECORDS
from schemas.codec import Schema, decode, load, name_and_text, resolve
from schemas.compatibility import incompatibilities

VERSIONS = tuple(load(name_and_text()))
RAW = {name: json.loads(text) for name, text in name_and_text()}
every_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda each: f"{each.record}.v{each.version}")


def newest(record: str) -> Schema:
    """Today's version."""
    return max((each for each in VERSIONS if each.record == record), key=lambda each: each.version)


def raw(schema: Schema) -> Any:
    """The file's content."""
    return RAW[f"{schema.record}.v{schema.version}.avsc"]


def written(schema: Schema, plain: Any) -> bytes:
    """What a writer of this version puts on the wire."""
    out = BytesIO(schema.header)
    out.seek(0, 2)
    schemaless_writer(out, schema.parsed, plain)
    return out.getvalue()


@every_version
def test_todays_reader_can_read_every_version(version: Schema) -> None:
    """By the rules of schema resolution nothing that was ever written is lost on today's reader."""
    assert incompatibilities(reader=raw(newest(version.record)), writer=raw(version)) == []


@every_version
def test_todays_codec_reads_generated_records_of_every_version(version: Schema) -> None:
    """The rules hold in practice: records made at random from each version's schema are decoded."""
    for plain in generate_many(version.parsed, 5):
        assert isinstance(decode(written(version, plain), RECORDS[version.record]), RECORDS[version.record])


def test_every_record_has_versions_without_gaps() -> None:
    """Files and catalogue name the same records, and versions count from 1."""
    found = defaultdict(list)
    for version in VERSIONS:
        found[version.record].append(version.version)
    assert {record: sorted(numbers) for record, numbers in found.items()} == {
        record: list(range(1, len(found[record]) + 1)) for record in RECORDS
    }


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_a_dataclass_and_its_newest_schema_say_the_same(record: type) -> None:
    """Fields, their order, which may be absent and what they are then, all the way down."""
    assert _differences(record, raw(newest(record.__name__))) == []


# ZC56: a small record through four versions.

V1: dict[str, Any] = {
    "type": "record",
    "name": "Sample",
    "fields": [
        {"name": "id", "type": "string"},
        {
            "name": "status",
            "type": {
                "type": "enum",
                "name": "Status",
                "symbols": ["scheduled", "started", "ended", "unknown"],
                "default": "unknown",
            },
        },
    ],
}
V2 = {**V1, "fields": [*V1["fields"], {"name": "host_id", "type": ["null", "string"], "default": None}]}
V3 = json.loads(json.dumps(V2).replace('"ended", "unknown"]', '"ended", "unknown", "recovered"]'))
V4 = {**V3, "fields": [*V3["fields"], {"name": "reason", "type": "string"}]}
S1, S2, S3, S4 = load(
    (f"Sample.v{number}.avsc", json.dumps(each)) for number, each in enumerate((V1, V2, V3, V4), start=1)
)


@pytest.mark.parametrize("writer", [S1, S2, S3], ids=["v1", "v2", "v3"])
def test_the_newest_reader_reads_every_older_version(writer: Schema) -> None:
    """A replay from the beginning reads all versions; what an old record lacks has its default."""
    plain = {"id": "a", "status": "ended"} | ({"host_id": "h"} if writer is not S1 else {})
    read = resolve(written(writer, plain), writer=writer, reader=S3)
    assert read == {"id": "a", "status": "ended", "host_id": None if writer is S1 else "h"}


def test_an_old_reader_takes_a_new_symbol_for_the_default() -> None:
    """A reader of version 1 that has version 3 on file reads its records, and an unknown status as `unknown`."""
    value = written(S3, {"id": "a", "status": "recovered", "host_id": "h"})
    assert resolve(value, writer=S3, reader=S1) == {"id": "a", "status": "unknown"}


def test_a_new_field_without_a_default_is_refused() -> None:
    """The check names the field, and reading would indeed fail."""
    assert incompatibilities(reader=V4, writer=V3) == [
        "Sample.reason: new, and without a default for records that were written before it"
    ]
    with pytest.raises(SchemaResolutionError):
        resolve(written(S3, {"id": "a", "status": "ended", "host_id": None}), writer=S3, reader=S4)


def test_growth_in_the_allowed_ways_is_accepted() -> None:
    """A new field with a default and a new symbol break no reader, in either direction where the enum has a default."""
    found = [incompatibilities(reader=reader, writer=writer) for reader in (V1, V2, V3) for writer in (V1, V2, V3)]
    assert found == [[]] * 9


def test_a_new_symbol_is_refused_where_the_reader_has_no_default() -> None:
    """What an old reader would crash on is named before it is written."""
    without = json.loads(json.dumps(V1).replace(', "default": "unknown"', ""))
    assert incompatibilities(reader=without, writer=V3) == [
        "Sample.status: symbols ['recovered'] are unknown to the reader, which has no default"
    ]


def _one_field(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "One", "fields": [{"name": "field", "type": kind}]}


@pytest.mark.parametrize(
    ("writer", "reader", "why"),
    [
        ("int", "long", []),
        ("string", ["null", "string"], []),
        (["null", "string"], "string", ["One.field: null became string"]),
        ("string", "long", ["One.field: string became long"]),
        ("long", {"type": "long", "logicalType": "timestamp-millis"}, ["One.field: None became timestamp-millis"]),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            {"type": "long", "logicalType": "timestamp-micros"},
            ["One.field: timestamp-millis became timestamp-micros"],
        ),
        ({"type": "array", "items": "string"}, {"type": "array", "items": "bytes"}, []),
        ({"type": "map", "values": "string"}, {"type": "map", "values": "long"}, ["One.field{}: string became long"]),
        (
            {"type": "fixed", "name": "F", "size": 8},
            {"type": "fixed", "name": "F", "size": 16},
            ["One.field: 8 bytes became 16"],
        ),
        ("string", ["null", "long"], ["One.field: no branch of the reader's union takes a string"]),
    ],
)
def test_what_may_become_what(writer: Any, reader: Any, why: list[str]) -> None:
    """The rules of resolution for types, and that a time in other units is not the same type."""
    assert incompatibilities(reader=_one_field(reader), writer=_one_field(writer)) == why


def _differences(record: Any, schema: Any) -> list[str]:
    """Where a dataclass and a record schema part, ignoring repeated definitions, which are given by name only."""
    if isinstance(schema, str):
        return []
    ours, theirs = fields(record), schema["fields"]
    if [each.name for each in ours] != [each["name"] for each in theirs]:
        return [f"{record.__name__}: fields differ"]
    hints = get_type_hints(record)
    found = [
        f"{record.__name__}.{each.name}: default"
        for each, other in zip(ours, theirs, strict=True)
        if not _same_default(each, other)
    ]
    for each, other in zip(ours, theirs, strict=True):
        for nested in _nested_dataclasses(hints[each.name]):
            found += _differences(nested, _nested_schema(other["type"]))
    return found


def _same_default(ours: Field[Any], theirs: dict[str, Any]) -> bool:
    """A default of the dataclass must be the schema's; an optional field may be null on the wire without having one here."""
    if ours.default is not MISSING:
        default = list(ours.default) if isinstance(ours.default, tuple) else ours.default
        return "default" in theirs and theirs["default"] == default
    if ours.default_factory is dict:
        return theirs.get("default") == {}
    return ours.default_factory is not MISSING or theirs.get("default") is None


def _nested_dataclasses(hint: Any) -> list[Any]:
    if is_dataclass(hint):
        return [hint]
    return [nested for argument in get_args(hint) for nested in _nested_dataclasses(argument)]


def _nested_schema(schema: Any) -> Any:
    """The record within unions, arrays and maps."""
    if isinstance(schema, list):
        return _nested_schema(next(branch for branch in schema if branch != "null"))
    if isinstance(schema, dict) and schema["type"] in ("array", "map"):
        return _nested_schema(schema.get("items") or schema["values"])
    return schema
