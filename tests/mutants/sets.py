"""All planted faults, by what they are about; `docs/testing.md` lists them."""

from __future__ import annotations

from collections.abc import Mapping

from tests.mutants import calls, claims, decisions, fold
from tests.mutants.fault import Fault

SETS: Mapping[str, tuple[Fault, ...]] = {
    "fold": fold.FAULTS,
    "work": (*claims.FAULTS, *calls.FAULTS, *decisions.FAULTS),
}
