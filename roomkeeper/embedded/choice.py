"""Which broker and database are used: those whose addresses are given, else Docker's, else embedded ones."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from schemas.errors import Misconfigured


class Source(StrEnum):
    """Where a broker or a database comes from."""

    GIVEN = "given"
    DOCKER = "docker"
    EMBEDDED = "embedded"


def choose(*, given: bool, docker: str, engine_reachable: Callable[[], bool]) -> Source:
    """The source for one service.

    `docker` is the setting (auto, never, always); the engine is asked only when the answer matters.

    Raises:
        Misconfigured: Docker is demanded and no engine answers.
    """
    if given:
        return Source.GIVEN
    if docker == "never":
        return Source.EMBEDDED
    if engine_reachable():
        return Source.DOCKER
    if docker == "always":
        raise Misconfigured(
            "ROOMKEEPER_EMBEDDED__DOCKER: is `always`, but no Docker engine answers: start one or set it to `auto`"
        )
    return Source.EMBEDDED
