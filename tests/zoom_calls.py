"""The REST client as tests use it: pointed at a simulated Zoom, without waits between tries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
from pydantic import SecretStr

from runtime.randomness import seeded
from runtime.settings import Account, WebhookSecret
from simulator.config import AccountConfig
from simulator.faults import Fault, Kind, Target
from tests.plain_http import NO_TLS
from tests.simulated_zoom import ACCOUNT, ManualClock, SimulatedZoom
from zoom.client.client import Gate, Tries, ZoomClient
from zoom.client.decisions import NO_CODE
from zoom.client.tokens import App, ProcessTokens, TokenCall, TokenKeeper
from zoom.client.transport import Answer

AT_ONCE = Tries(most=4, first_seconds=0.0, limit_seconds=0.0, call_seconds=5.0)


def app_of(zoom: SimulatedZoom, account: AccountConfig = ACCOUNT, **other: Any) -> App:
    """The account's app, with the simulator's addresses set by hand."""
    app = App(
        account_id=account.account_id,
        client_id=account.client_id,
        client_secret=account.client_secret,
        token_url=f"{zoom.address}/oauth/token",
        api_url=zoom.address,
    )
    return replace(app, **other)


def gateway_account(address: str, *, plan: str = "pro") -> Account:
    """The account of the simulated Zoom at an address, as settings name it; its gateway is on."""
    return Account(
        account_id=ACCOUNT.account_id,
        webhook_secrets=(WebhookSecret(value=SecretStr(ACCOUNT.webhook_secret)),),
        plan=plan,
        gateway=True,
        client_id=ACCOUNT.client_id,
        client_secret=SecretStr(ACCOUNT.client_secret),
        token_url=f"{address}/oauth/token",
        api_url=address,
    )


@asynccontextmanager
async def zoom_client(
    zoom: SimulatedZoom,
    clock: ManualClock,
    *,
    app: App | None = None,
    tokens: TokenKeeper | None = None,
    gates: Sequence[Gate] = (),
    tries: Tries = AT_ONCE,
) -> AsyncIterator[ZoomClient]:
    """A client of the simulator."""
    used = app or app_of(zoom)
    async with httpx.AsyncClient(trust_env=False, verify=NO_TLS) as http:
        call = TokenCall(http, clock=clock, timeout_seconds=tries.call_seconds)
        yield ZoomClient(
            {used.account_id: used},
            http=http,
            tokens=tokens or ProcessTokens(call, clock=clock),
            clock=clock,
            uniform=seeded(1, "client").uniform,
            tries=tries,
            gates=gates,
        )


def order(zoom: SimulatedZoom, kind: Kind, *names: str, count: int | None = 1, **other: Any) -> Fault:
    """Orders a fault of the REST side: how the next calls go wrong."""
    return zoom.service.faults.order(
        Fault(target=Target.REST, kind=kind, names=names or ("create",), count=count, **other)
    )


def calls(zoom: SimulatedZoom, endpoint: str) -> dict[int, int]:
    """How often an endpoint was called, by status; 0 where it gave no answer."""
    return {status: count for (name, status), count in zoom.service.calls.items() if name == endpoint}


def answer(status: int) -> Answer:
    """An answer of that status."""
    return Answer(
        status=status,
        document=None,
        code=NO_CODE if status >= 500 else status,
        message="",
        headers={},
        sent_at=datetime(2026, 12, 1, tzinfo=UTC),
        elapsed_seconds=0.1,
    )
