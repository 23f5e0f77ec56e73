"""A simulated Zoom with two accounts, at one moment."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.simulated_rest import OTHER
from tests.simulated_zoom import ACCOUNT, ManualClock, SimulatedZoom, config, simulated_zoom


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at one moment."""
    return ManualClock()


@pytest.fixture
def zoom(clock: ManualClock) -> Iterator[SimulatedZoom]:
    """Two accounts, the first on the Business plan."""
    with simulated_zoom(config(accounts=(ACCOUNT, OTHER)), clock) as running:
        yield running


@pytest.fixture
def client(zoom: SimulatedZoom) -> Iterator[httpx.Client]:
    """A client of the first account."""
    with zoom.client() as opened:
        yield opened
