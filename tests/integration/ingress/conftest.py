"""One running ingress for each module of tests, with a clock that the tests set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from runtime.settings import Settings
from tests.ingress import (
    ACCOUNT,
    OTHER_ACCOUNT,
    OTHER_SECRET,
    SECRET,
    FixedClock,
    Receiver,
    account,
    client,
    new_api_key,
    prepared,
    serving,
)
from tests.stack import Stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An ingress that serves a module."""

    url: str
    settings: Settings
    clock: FixedClock


@pytest.fixture(scope="module")
def running(stack: Stack) -> Iterator[Running]:
    """Ingress with two accounts, each with a secret of its own."""
    with stack.corner() as corner:
        settings = prepared(corner, account(ACCOUNT, SECRET), account(OTHER_ACCOUNT, OTHER_SECRET))
        clock = FixedClock()
        with serving(settings, clock=clock) as url:
            yield Running(url=url, settings=settings, clock=clock)


@pytest.fixture
def receiver(running: Running) -> Receiver:
    """That ingress, for one test."""
    running.clock.at = FixedClock().at
    return Receiver(url=running.url, settings=running.settings, clock=running.clock)


@pytest.fixture
def api(running: Running) -> Iterator[httpx.Client]:
    """An HTTP client with a key of the first account."""
    with client(running.url, new_api_key(running.settings)) as opened:
        yield opened


@pytest.fixture
def other_api(running: Running) -> Iterator[httpx.Client]:
    """An HTTP client with a key of the second account."""
    with client(running.url, new_api_key(running.settings, OTHER_ACCOUNT)) as opened:
        yield opened
