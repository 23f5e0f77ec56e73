"""Writes the generated parts of the documentation: topics, records, settings, metrics, and `.env.example`.

A page holds a generated part between `<!-- generated: NAME -->` and `<!-- end -->`; what stands around it is written by
hand and stays. `--check` writes nothing and exits 1 when a page is out of date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from runtime.metrics.catalogue import CATALOGUE
from runtime.metrics.spec import CounterSpec, HistogramSpec, Spec
from runtime.settings import Settings
from runtime.topics import Catalogue, Topic, load

ROOT = Path(__file__).resolve().parents[1]
_PART = re.compile(r"(?P<start><!-- generated: (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


def main() -> int:
    """Write, or check; the exit code says whether anything was out of date when only checking."""
    only_check = "--check" in sys.argv[1:]
    stale = {path: text for path, text in pages() if not path.exists() or path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        if not only_check:
            path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)}: {'out of date, run make docs' if only_check else 'written'}\n")
    return 1 if stale and only_check else 0


def pages() -> Iterator[tuple[Path, str]]:
    """Every page with generated parts, and `.env.example`, as they should be."""
    parts: Mapping[str, Callable[[], str]] = {
        "topics": _topics,
        "records": _records,
        "settings": _settings,
        "metrics": _metrics,
    }
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if _PART.search(text):
            yield path, _PART.sub(lambda part: f"{part['start']}{parts[part['name']]()}\n{part['end']}", text)
    yield ROOT / ".env.example", _example()


def _topics() -> str:
    catalogue = load()
    rows = [_topic_row(catalogue, name, topic) for name, topic in catalogue.topics.items()]
    return _table(["topic", "what for", "key", "records", "partitions", "kept", "written by", "read by"], rows)


def _topic_row(catalogue: Catalogue, name: str, topic: Topic) -> list[str]:
    days = topic.retention_days or catalogue.defaults.retention_days
    records = ", ".join(topic.records) or "the bytes as they came"
    partitions = str(topic.partitions or catalogue.defaults.partitions)
    kept = f"{days} days" if topic.cleanup == "delete" else "the last of each key"
    writers, readers = ", ".join(topic.written_by), ", ".join(topic.read_by)
    return [f"`{name}`", topic.purpose, topic.key, records, partitions, kept, writers, readers]


def _records() -> str:
    found = []
    for file in sorted((ROOT / "schemas/avsc").glob("*.avsc")):
        name, version = file.name.removesuffix(".avsc").split(".")
        schema = json.loads(file.read_text(encoding="utf-8"))
        rows = [[f"`{field['name']}`", _avro(field["type"]), field.get("doc", "")] for field in schema["fields"]]
        link = f"[schema](../schemas/avsc/{file.name})"
        found.append(
            f"### {name} ({version})\n\n{schema.get('doc', '')} ({link})\n\n{_table(['field', 'type', ''], rows)}"
        )
    return "\n\n".join(found)


def _avro(kind: Any) -> str:
    """An Avro type in a few words."""
    if isinstance(kind, list):
        return " or ".join(_avro(each) for each in kind)
    if isinstance(kind, str):
        return kind
    if kind["type"] in {"array", "map"}:
        return f"{kind['type']} of {_avro(kind.get('items') or kind.get('values'))}"
    return str(kind.get("logicalType") or kind.get("name") or _avro(kind["type"]))


def _settings() -> str:
    return _table(
        ["variable", "default", "meaning"], [[f"`{name}`", default, text] for name, default, text in _variables()]
    )


def _example() -> str:
    lines = ["# Every setting with its default. Lists and mappings are JSON.", ""]
    for name, default, text in _variables():
        lines += [*([f"# {text}"] if text else []), f"#{name}={default.strip('`')}"]
    return "\n".join(lines) + "\n"


def _variables() -> Iterator[tuple[str, str, str]]:
    """Name, default and meaning of each variable."""
    for section, info in Settings.model_fields.items():
        fields: Mapping[str, FieldInfo] = getattr(info.annotation, "model_fields", {})
        for field, inner in fields.items() or {"": info}.items():
            name = f"ROOMKEEPER_{section}__{field}".removesuffix("__").upper()
            yield name, _default(inner), inner.description or ""


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None or value in ((), {}):
        return ""
    plain = list(value) if isinstance(value, tuple) else value
    return f"`{json.dumps(plain) if isinstance(plain, list | bool | int | float) else plain}`"


def _metrics() -> str:
    rows = [
        [f"`{spec.name}`", _kind(spec), spec.unit, ", ".join(f"`{label}`" for label in spec.labels), spec.meaning]
        for spec in CATALOGUE
    ]
    return _table(["metric", "type", "unit", "labels", "meaning"], rows)


def _kind(spec: Spec) -> str:
    if isinstance(spec, CounterSpec):
        return "counter"
    return "histogram" if isinstance(spec, HistogramSpec) else "gauge"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    cells = [[cell.replace("|", "\\|").replace("\n", " ").strip() for cell in row] for row in rows]
    return "\n".join([f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *cells)])


if __name__ == "__main__":
    sys.exit(main())
