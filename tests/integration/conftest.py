"""What tests of work towards Zoom ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from runtime.postgres import AsyncDatabase
from runtime.settings import Settings
from tests.command_plane import Plane, command_plane


@pytest.fixture
def plane(settings: Settings) -> Iterator[Plane]:
    """A command plane of the test's own."""
    with command_plane(settings) as made:
        yield made


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[AsyncDatabase]:
    """A pool of the test's own database."""
    async with AsyncDatabase(settings.postgres, role="gateway") as opened:
        yield opened
