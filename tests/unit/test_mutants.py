"""The faults that `make mutants` plants still fit the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.fault import Fault
from tests.mutants.sets import SETS

ROOT = Path(__file__).resolve().parent.parent.parent
FAULTS = [fault for faults in SETS.values() for fault in faults]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_one_place(fault: Fault) -> None:
    """What the fault replaces stands in its file exactly once."""
    assert (ROOT / fault.file).read_text(encoding="utf-8").count(fault.right) == 1


def test_every_fault_is_listed_in_the_docs() -> None:
    """docs/testing.md names each."""
    listed = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    assert [fault.name for fault in FAULTS if fault.name not in listed] == []


def test_every_fault_has_a_name_of_its_own() -> None:
    """So that it can be chosen, and is looked for in the docs."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
