"""Access tokens that all processes share, encrypted in PostgreSQL.

Guarantees: one renewal of an account's token at a time over all processes, under an advisory lock that dies with its
holder; whoever waited for it takes what it brought; a 401 for a token that is no longer the newest renews nothing. A
renewal that failed is not tried again by anybody for a moment, so that an outage of Zoom's is no storm of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from reconciler.gateway.alerts import CREDENTIALS_REFUSED, TOKEN_UNAVAILABLE, Alerts
from runtime.cipher import Cipher
from runtime.clock import Clock
from runtime.metrics.catalogue.zoom import ZOOM_TOKEN_RENEWALS
from runtime.metrics.registry import Metrics
from runtime.postgres import AsyncConnection, AsyncDatabase
from runtime.queries import queries
from schemas.errors import BadMessage, Misconfigured, Unavailable
from zoom.client.tokens import App, Token, TokenCall

TRIES = 2
FAIL_FAST_SECONDS = 5.0
REFUSED_SECONDS = 60.0
"""Refused credentials are tried again so often, in case they were put right at Zoom's end."""
LOCK_WAIT_SECONDS = 20.0
"""Longer than a renewal with its tries takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    token: Token | None
    failed_at: datetime | None
    refused: bool


class SharedTokens:
    """Keeps the newest token of each account for all processes; implements `TokenKeeper`."""

    def __init__(
        self,
        database: AsyncDatabase,
        *,
        call: TokenCall,
        cipher: Cipher,
        alerts: Alerts,
        clock: Clock,
        metrics: Metrics | None = None,
    ) -> None:
        """Asks Zoom through `call`, seals with `cipher`."""
        self._metrics = metrics or Metrics()
        self._database = database
        self._call = call
        self._cipher = cipher
        self._alerts = alerts
        self._clock = clock
        self._newest: dict[str, Token] = {}

    async def current(self, app: App) -> Token:
        """A token that should work."""
        known = self._newest.get(app.account_id)
        if known is not None and known.is_fresh(self._clock.now()):
            return known
        return await self._shared(app, dead=None)

    async def renewed(self, app: App, *, dead: Token) -> Token:
        """A token other than the dead one."""
        return await self._shared(app, dead=dead)

    async def _shared(self, app: App, *, dead: Token | None) -> Token:
        kept = await self._read(app.account_id)
        token = kept.token if self._serves(kept.token, dead) else await self._renew(app, dead=dead)
        if token is None:
            raise Unavailable(f"there is no token for account {app.account_id}")
        self._newest[app.account_id] = token
        return token

    async def _renew(self, app: App, *, dead: Token | None) -> Token:
        """A new token, or the one that somebody else got while this process waited for the lock."""
        failure: Unavailable | Misconfigured
        async with self._database.connection("renew a Zoom token") as connection:
            await _run(connection, "limit_lock_wait", ms=str(round(LOCK_WAIT_SECONDS * 1000)))
            await _run(connection, "lock_token", account_id=app.account_id)
            kept = await self._read(app.account_id, connection)
            if kept.token is not None and self._serves(kept.token, dead):
                return kept.token
            self._fail_fast(app, kept)
            try:
                token = await self._fetch(app)
                await self._store(connection, app.account_id, token)
            except (Unavailable, Misconfigured) as error:
                # Noted and committed, so that others do not try at once; then raised.
                failure = error
                refused = isinstance(error, Misconfigured)
                now = self._clock.now()
                await _run(connection, "note_token_failure", account_id=app.account_id, now=now, refused=refused)
            else:
                return await self._announced(app, token)
        self._count(app, "refused" if isinstance(failure, Misconfigured) else "failed")
        name = CREDENTIALS_REFUSED if isinstance(failure, Misconfigured) else TOKEN_UNAVAILABLE
        await self._alerts.begin(name, app.account_id, str(failure))
        raise failure

    def _count(self, app: App, outcome: str) -> None:
        self._metrics.counter(ZOOM_TOKEN_RENEWALS, account=app.account_id, outcome=outcome).inc()

    async def _announced(self, app: App, token: Token) -> Token:
        self._count(app, "renewed")
        for name in (TOKEN_UNAVAILABLE, CREDENTIALS_REFUSED):
            await self._alerts.end(name, app.account_id)
        return token

    async def _fetch(self, app: App) -> Token:
        for _ in range(TRIES - 1):
            try:
                return await self._call.fetch(app)
            except Unavailable:
                continue
        return await self._call.fetch(app)

    async def _store(self, connection: AsyncConnection, account_id: str, token: Token) -> None:
        plain = orjson.dumps({"text": token.text, "api_url": token.api_url})
        await _run(
            connection,
            "store_token",
            account_id=account_id,
            sealed=self._cipher.seal(plain),
            expires_at=token.expires_at,
        )

    async def _read(self, account_id: str, connection: AsyncConnection | None = None) -> _Kept:
        if connection is None:
            async with self._database.connection("read a Zoom token") as own:
                return await self._read(account_id, own)
        cursor = await connection.execute(queries("reconciler")["find_token"], {"account_id": account_id})
        row = await cursor.fetchone()
        if row is None:
            return _Kept(token=None, failed_at=None, refused=False)
        return _Kept(token=self._opened(row), failed_at=row["failed_at"], refused=row["refused"])

    def _opened(self, row: dict[str, Any]) -> Token | None:
        if row["sealed"] is None or row["expires_at"] is None:
            return None
        try:
            plain = orjson.loads(self._cipher.open(bytes(row["sealed"])))
        except BadMessage:
            return None  # sealed with a key that was retired: a new token costs one call
        return Token(text=plain["text"], expires_at=row["expires_at"], api_url=plain["api_url"])

    def _serves(self, token: Token | None, dead: Token | None) -> bool:
        return token is not None and token.is_fresh(self._clock.now()) and (dead is None or token.text != dead.text)

    def _fail_fast(self, app: App, kept: _Kept) -> None:
        if kept.failed_at is None:
            return
        pause = timedelta(seconds=REFUSED_SECONDS if kept.refused else FAIL_FAST_SECONDS)
        if not timedelta(0) <= self._clock.now() - kept.failed_at < pause:
            return
        if kept.refused:
            raise Misconfigured(f"ROOMKEEPER_ACCOUNTS: Zoom refuses the credentials of account {app.account_id}")
        raise Unavailable(f"Zoom gave no token for account {app.account_id} a moment ago")


async def _run(connection: AsyncConnection, query: str, **values: Any) -> None:
    await connection.execute(queries("reconciler")[query], values)
