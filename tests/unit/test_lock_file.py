"""requirements.txt holds what pyproject.toml asks for: pinned, hashed, and from nowhere in particular."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.txt").read_text()
PINS = dict(re.findall(r"^([a-z0-9.-]+)(?:\[[^]]*\])?==(\S+)", LOCK, re.MULTILINE))


def declared() -> list[Requirement]:
    """Every dependency of the project, those of the extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    return [Requirement(each) for each in (*project["dependencies"], *extras)]


def test_every_dependency_is_pinned_within_its_range() -> None:
    """A dependency that was added or moved in pyproject.toml needs `make lock`."""
    wrong = [str(each) for each in declared() if PINS.get(canonicalize_name(each.name), "") not in each.specifier]
    assert wrong == []


def test_every_pin_has_hashes() -> None:
    """Installation refuses what does not match; a pin without a hash would not be checked."""
    pins = re.split(r"^(?=[a-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert [pin.splitlines()[0] for pin in pins if "--hash=sha256:" not in pin] == []
    assert len(pins) == len(PINS)


def test_the_lock_names_no_registry() -> None:
    """Whoever installs decides where packages come from."""
    assert re.findall(r"https?://|--(?:extra-)?index-url|--find-links", LOCK) == []
