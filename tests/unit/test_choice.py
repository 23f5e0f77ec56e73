"""Which broker and database are used."""

from __future__ import annotations

import pytest

from roomkeeper.embedded.choice import Source, choose
from schemas.errors import Misconfigured


@pytest.mark.parametrize(
    ("given", "docker", "reachable", "expected"),
    [
        (True, "auto", True, Source.GIVEN),
        (True, "always", False, Source.GIVEN),
        (True, "never", False, Source.GIVEN),
        (False, "auto", True, Source.DOCKER),
        (False, "always", True, Source.DOCKER),
        (False, "auto", False, Source.EMBEDDED),
        (False, "never", True, Source.EMBEDDED),
        (False, "never", False, Source.EMBEDDED),
    ],
)
def test_given_addresses_win_then_docker_then_embedded(
    given: bool, docker: str, reachable: bool, expected: Source
) -> None:
    """A given address beats a reachable engine, which beats the embedded servers; the setting can rule Docker out."""
    assert choose(given=given, docker=docker, engine_reachable=lambda: reachable) is expected


@pytest.mark.parametrize(("given", "docker"), [(True, "auto"), (True, "always"), (False, "never")])
def test_the_engine_is_asked_only_when_it_matters(given: bool, docker: str) -> None:
    """Looking for an engine takes time: where the answer changes nothing, nobody looks."""

    def look() -> bool:
        raise AssertionError("the engine was asked")

    choose(given=given, docker=docker, engine_reachable=look)


def test_docker_that_is_demanded_and_not_there_is_a_wrong_setting() -> None:
    """Demanding Docker without an engine names the setting and does not fall back."""
    with pytest.raises(Misconfigured, match="ROOMKEEPER_EMBEDDED__DOCKER"):
        choose(given=False, docker="always", engine_reachable=lambda: False)
