"""The lock files hold what pyproject.toml asks for: pinned, hashed, and from nowhere in particular."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.txt", "requirements-runtime.txt")


def text(lock: str) -> str:
    """A lock file."""
    return (ROOT / lock).read_text()


def pins(lock: str) -> dict[str, str]:
    """The version of each package of a lock file."""
    return dict(re.findall(r"^([a-z0-9.-]+)(?:\[[^]]*\])?==(\S+)", text(lock), re.MULTILINE))


def declared(*, extras: bool) -> list[Requirement]:
    """The dependencies of the project, those of its extras too when asked for."""
    project = tomllib.loads(text("pyproject.toml"))["project"]
    optional = [each for extra in project["optional-dependencies"].values() for each in extra]
    return [Requirement(each) for each in (*project["dependencies"], *(optional if extras else ()))]


@pytest.mark.parametrize(("lock", "extras"), [("requirements.txt", True), ("requirements-runtime.txt", False)])
def test_every_dependency_is_pinned_within_its_range(lock: str, extras: bool) -> None:
    """A dependency that was added or moved in pyproject.toml needs `make lock`."""
    pinned = pins(lock)
    wanted = declared(extras=extras)
    assert [str(each) for each in wanted if pinned.get(canonicalize_name(each.name), "") not in each.specifier] == []


def test_both_files_pin_the_same_versions() -> None:
    """The image runs what the tests ran."""
    assert pins("requirements-runtime.txt").items() <= pins("requirements.txt").items()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_hashes(lock: str) -> None:
    """Installation refuses what does not match; a pin without a hash would not be checked."""
    entries = re.split(r"^(?=[a-z0-9])", text(lock), flags=re.MULTILINE)[1:]
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert len(entries) == len(pins(lock))


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_names_no_registry(lock: str) -> None:
    """Whoever installs decides where packages come from."""
    assert re.findall(r"https?://|--(?:extra-)?index-url|--find-links", text(lock)) == []
