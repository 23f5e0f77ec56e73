"""What ingress does beside its requests: when it fails the process ends, for nobody would see it otherwise."""

from __future__ import annotations

import asyncio

import pytest

from ingress.refusals import Refusals
from ingress.server import serve
from runtime.clock import SystemClock
from runtime.settings import Settings
from schemas.errors import Broken
from tests.ingress import prepared

ENOUGH = 60


async def _fail(_: Refusals) -> None:
    raise Broken("an invariant")


def test_background_work_that_fails_ends_the_process(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serving stops in order, and the error is what the process ends with."""
    monkeypatch.setattr(Refusals, "run", _fail)
    ready = prepared(settings)

    async def served() -> None:
        async with asyncio.timeout(ENOUGH):
            await serve(ready, clock=SystemClock(), announce=lambda _: None)

    with pytest.raises(Broken, match="an invariant"):
        asyncio.run(served())
