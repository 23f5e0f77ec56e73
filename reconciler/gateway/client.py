"""The way to Zoom as the settings describe it: which accounts have one, and the client that serves them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx

from reconciler.gateway.alerts import Alerts, AppAlerts
from reconciler.gateway.breaker import Breakers
from reconciler.gateway.budgets import Budgets
from reconciler.gateway.hosts import Hosts
from reconciler.gateway.tokens import SharedTokens
from reconciler.gateway.watch import Watch
from runtime.cipher import Cipher
from runtime.clock import Clock
from runtime.metrics.registry import Metrics
from runtime.postgres import AsyncDatabase
from runtime.randomness import Random
from runtime.settings import Account, Settings
from schemas.errors import Misconfigured
from zoom.client.client import Gate, Tries, ZoomClient
from zoom.client.tokens import App, ProcessTokens, TokenCall, TokenKeeper

MOST_CONNECTIONS = 64
TOKEN_CALL_SECONDS = 8.0
"""Others wait for a renewal: two tries must fit into their patience."""


def apps_of(settings: Settings) -> Mapping[str, App]:
    """The app of each account whose gateway is switched on.

    Raises:
        Misconfigured: such an account has no credentials.
    """
    return {account.account_id: _app(account) for account in settings.accounts if account.gateway}


def tracking_fields_of(settings: Settings) -> Mapping[str, str | None]:
    """Each account's tracking field for provider keys."""
    return {account.account_id: account.tracking_field for account in settings.accounts}


@asynccontextmanager
async def zoom_client(
    settings: Settings,
    apps: Mapping[str, App],
    *,
    database: AsyncDatabase,
    clock: Clock,
    random: Random,
    gates: Sequence[Gate] = (),
    metrics: Metrics | None = None,
) -> AsyncIterator[ZoomClient]:
    """A client of these apps, which shares tokens, limits and breakers with all processes through the database.

    Its calls pass `gates` of the caller's besides, and are counted in `metrics`.

    Raises:
        Misconfigured: there is no key to encrypt tokens with.
    """
    cipher, counts = Cipher(settings.security.encryption_keys) if apps else None, metrics or Metrics()
    rooms = settings.rooms
    first, limit = rooms.call_backoff_seconds
    tries = Tries(
        most=rooms.call_attempts,
        first_seconds=first,
        limit_seconds=limit,
        call_seconds=rooms.call_timeout_seconds,
    )
    limits = httpx.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS)
    async with httpx.AsyncClient(limits=limits) as http:
        alerts = Alerts(database, clock=clock)
        call = TokenCall(http, clock=clock, timeout_seconds=min(tries.call_seconds, TOKEN_CALL_SECONDS))
        tokens: TokenKeeper = ProcessTokens(call, clock=clock)
        if cipher is not None:
            tokens = SharedTokens(database, call=call, cipher=cipher, alerts=alerts, clock=clock, metrics=counts)
        plans = {account.account_id: account.plan for account in settings.accounts}
        yield ZoomClient(
            apps,
            http=http,
            tokens=tokens,
            clock=clock,
            uniform=random.uniform,
            tries=tries,
            gates=(
                Watch(counts),
                AppAlerts(alerts),
                Hosts(database),
                Breakers(
                    database,
                    settings=settings.zoom,
                    alerts=alerts,
                    clock=clock,
                    trial_seconds=settings.zoom.rate_wait_seconds + tries.call_seconds,
                ),
                *gates,
                Budgets(database, plans=plans, settings=settings.zoom, clock=clock),
            ),
        )


def _app(account: Account) -> App:
    if account.client_id is None or account.client_secret is None:
        raise Misconfigured(
            f"ROOMKEEPER_ACCOUNTS: account {account.account_id} has a gateway but no client_id and client_secret"
        )
    return App(
        account_id=account.account_id,
        client_id=account.client_id,
        client_secret=account.client_secret.get_secret_value(),
        token_url=account.token_url,
        api_url=account.api_url,
    )
