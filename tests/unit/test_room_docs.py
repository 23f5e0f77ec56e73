"""The pages that name tests name ones that exist, and each field case of the command plane is a test."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = (31, 33, 34, 36, 37, 39, 40, 41, 43, 44, 47, 48, 49)
"""Field cases of creating, changing, registering, limits, tokens, errors, breakers and leases."""


@cache
def sources() -> str:
    """All tests but this one."""
    files = (path for path in sorted((ROOT / "tests").rglob("test_*.py")) if path != Path(__file__))
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


@pytest.mark.parametrize("page", ["rooms.md", "outbox.md", "testing.md"])
def test_named_tests_exist(page: str) -> None:
    """A promise is only as good as the test that shows it."""
    named = re.findall(r"(?:`|::)(test_[a-z0-9_]+)`", (ROOT / "docs" / page).read_text(encoding="utf-8"))
    assert [name for name in named if f"def {name}(" not in sources()] == []
    assert len(named) >= 6


@pytest.mark.parametrize("case", CASES)
def test_each_case_is_a_test(case: int) -> None:
    """The docstring or the name of a test, or of its file, says which case it is."""
    assert re.search(rf"(?i)zc{case}\b|zc{case}_", sources())
