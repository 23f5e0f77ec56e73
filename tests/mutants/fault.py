"""What a planted fault is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A change of one piece of code that must not go unnoticed."""

    name: str
    file: str
    right: str
    """Stands in the file exactly once."""
    wrong: str
    tests: tuple[str, ...] = ()
    """Tests that must notice it; of none the whole suite of its set."""
