"""The limit of open files."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from ingress.server import OTHER_FILES, run
from runtime.clock import SystemClock
from runtime.open_files import allow_files
from runtime.settings import IngressSettings, Settings
from schemas.errors import Misconfigured


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    """A low limit below the system's, for the test alone."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    yield 512, before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(("most", "after"), [(600, 600), (100, 512)])
def test_a_process_may_have_as_many_files_as_it_says(limits: tuple[int, int], most: int, after: int) -> None:
    """A limit that is too low is raised, and one that is higher stays."""
    allow_files(most)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (after, limits[1])


def test_no_process_may_have_more_files_than_the_system_lets_it(limits: tuple[int, int]) -> None:
    """Where the system's own limit is lower, it is reached, and that is no error."""
    _, hard = limits
    allow_files(hard + 1)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)


def test_ingress_may_have_as_many_files_as_connections(limits: tuple[int, int]) -> None:
    """Its bound on connections is reached before the system's on files, with which nothing could be opened any more."""
    settings = Settings(ingress=IngressSettings(max_connections=1_000))
    with pytest.raises(Misconfigured):
        run(settings, clock=SystemClock())
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (1_000 + OTHER_FILES, limits[1])
