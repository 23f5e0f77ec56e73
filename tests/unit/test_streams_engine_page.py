"""docs/streams-engine.md names every override of Faust's classes, and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streams.engine.app import App
from streams.engine.recovery import Recovery, TableManager
from streams.engine.table import Store, Table
from streams.engine.transport import BatchSchema, Consumer, Producer

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "streams-engine.md").read_text(encoding="utf-8")
NO_BEHAVIOUR = {"logger", "_publish_stats", "store"}
"""Set by mode for each class, Faust's statistics, and a cast."""


@pytest.mark.parametrize("ours", [App, Consumer, Producer, BatchSchema, Recovery, TableManager, Table, Store])
def test_every_override_is_listed(ours: type) -> None:
    """What an engine's class has in place of Faust's has a row, and so a test."""
    theirs = {name for above in ours.__mro__[1:-1] for name in vars(above)}
    overrides = {name for name, value in vars(ours).items() if name in theirs and _is_written_here(name, value, ours)}
    assert sorted(name for name in overrides if f"`{name}`" not in PAGE) == []


def test_every_test_that_is_named_is_there() -> None:
    """The last column of the tables holds names of tests."""
    rows = [line.split("|")[-2] for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
    named = {name for row in rows for name in re.findall(r"`(\w+)(?:\[[\w-]+\])?`", row)}
    tests = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/*/test_*.py"))
    assert sorted(name for name in named if f"def test_{name}(" not in tests) == []


def _is_written_here(name: str, value: object, ours: type) -> bool:
    """Whether the class itself says it, rather than a metaclass or a decorator."""
    if name.startswith("__") or name in NO_BEHAVIOUR:
        return False
    function = getattr(value, "fget", None) or getattr(value, "fun", None) or value
    return getattr(function, "__module__", None) == ours.__module__
