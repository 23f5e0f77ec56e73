"""A port that somebody else has is told in one line, with the setting or the option that names it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from ingress.server import serve
from runtime.clock import SystemClock
from runtime.settings import Settings
from schemas.errors import Misconfigured
from simulator.server import listen
from tests.ingress import prepared


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        yield somebody.getsockname()[1]


def test_ingress_names_its_setting(settings: Settings, taken: int) -> None:
    """Nothing is served, and the reason is told."""
    ready = prepared(settings)
    ready = ready.model_copy(update={"ingress": ready.ingress.model_copy(update={"port": taken})})
    with pytest.raises(Misconfigured) as raised:
        asyncio.run(serve(ready, clock=SystemClock(), announce=lambda _: None))
    assert str(raised.value) == (
        "ROOMKEEPER_INGRESS__HOST and ROOMKEEPER_INGRESS__PORT: "
        f"cannot listen on 127.0.0.1:{taken} (Address already in use)"
    )


def test_the_simulator_names_its_option(taken: int) -> None:
    """Nothing is served, and the reason is told."""
    with pytest.raises(Misconfigured) as raised:
        listen("127.0.0.1", taken)
    assert str(raised.value) == f"--host and --port: cannot listen on 127.0.0.1:{taken} (Address already in use)"
