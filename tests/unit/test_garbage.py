"""How often Python looks for dead cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from runtime.garbage import OBJECTS_BETWEEN, collect_seldom


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The test process goes on with its own collector."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_the_collector_looks_seldom_and_never_at_what_was_imported() -> None:
    """The young are looked at after many more objects, and what is there already is left out."""
    collect_seldom()
    assert (gc.get_threshold()[0], gc.get_freeze_count() > 0, gc.isenabled()) == (OBJECTS_BETWEEN, True, True)
