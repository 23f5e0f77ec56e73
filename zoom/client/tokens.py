"""Server-to-server OAuth: credentials in, access tokens out.

Whoever keeps tokens implements `TokenKeeper`; `ProcessTokens` keeps them for one process. A 401 for a token that is no
longer the newest never asks for another: the newer one is there already.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import urlsplit

import httpx

from schemas.errors import Misconfigured, Unavailable
from zoom.client.transport import Answer, Clock, NoAnswer, NothingSent, exchange

EARLY_SECONDS = 180.0
"""A token is renewed so long before its end: clocks may differ by minutes, and calls under way need it too."""
MOST_SECONDS = 86_400
DEFAULT_API = "https://api.zoom.us"


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """One account's server-to-server app."""

    account_id: str
    client_id: str
    client_secret: str = field(repr=False)
    token_url: str
    api_url: str | None = None
    """Set by hand; None believes the token, within Zoom's own domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An access token."""

    text: str = field(repr=False)
    expires_at: datetime
    api_url: str | None = None

    def is_fresh(self, now: datetime) -> bool:
        """Whether it can be used without a renewal."""
        return now < self.expires_at - timedelta(seconds=EARLY_SECONDS)


class TokenKeeper(Protocol):
    """Keeps the newest token of each account."""

    async def current(self, app: App) -> Token:
        """A token that should work.

        Raises:
            Unavailable: none can be had at the moment.
            Misconfigured: Zoom refuses the credentials.
        """

    async def renewed(self, app: App, *, dead: Token) -> Token:
        """A token other than the dead one: the newest that is kept, or else a new one. Raises like `current`."""


class TokenCall:
    """Asks Zoom for tokens."""

    def __init__(self, http: httpx.AsyncClient, *, clock: Clock, timeout_seconds: float) -> None:
        """Uses this connection pool."""
        self._http = http
        self._clock = clock
        self._timeout_seconds = timeout_seconds

    async def fetch(self, app: App) -> Token:
        """A new token.

        Raises:
            Unavailable: no answer, or Zoom has a problem or a limit.
            Misconfigured: Zoom refuses the credentials, whatever the reason.
        """
        request = self._http.build_request(
            "POST",
            app.token_url,
            data={"grant_type": "account_credentials", "account_id": app.account_id},
            headers={"authorization": f"Basic {b64encode(f'{app.client_id}:{app.client_secret}'.encode()).decode()}"},
        )
        try:
            answer = await exchange(
                self._http, request, clock=self._clock, timeout_seconds=self._timeout_seconds, keeps_secrets=True
            )
        except (NothingSent, NoAnswer) as error:
            raise Unavailable(f"Zoom gave no token for account {app.account_id}: {error}") from error
        return _token(answer, app)


class ProcessTokens:
    """Tokens of one process; one renewal of an account at a time."""

    def __init__(self, call: TokenCall, *, clock: Clock) -> None:
        """Asks through `call`."""
        self._call = call
        self._clock = clock
        self._tokens: dict[str, Token] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def current(self, app: App) -> Token:
        """A token that should work."""
        return await self._newest(app, dead=None)

    async def renewed(self, app: App, *, dead: Token) -> Token:
        """A token other than the dead one."""
        return await self._newest(app, dead=dead)

    async def _newest(self, app: App, *, dead: Token | None) -> Token:
        async with self._locks[app.account_id]:
            kept = self._tokens.get(app.account_id)
            if kept is None or not kept.is_fresh(self._clock.now()) or (dead is not None and kept.text == dead.text):
                kept = self._tokens[app.account_id] = await self._call.fetch(app)
            return kept


def api_base(app: App, token: Token) -> str:
    """Where the account's calls go: as set by hand, else as the token says if that is Zoom's, else the usual place."""
    if app.api_url is not None:
        return app.api_url.rstrip("/")
    said = urlsplit(token.api_url or "")
    host = said.hostname or ""
    if said.scheme == "https" and (host == "zoom.us" or host.endswith(".zoom.us")) and said.username is None:
        return f"https://{host}" if said.port in (None, 443) else DEFAULT_API
    return DEFAULT_API


def _token(answer: Answer, app: App) -> Token:
    if answer.status in (429, 408) or answer.status >= 500:
        raise Unavailable(f"Zoom gave no token for account {app.account_id}: status {answer.status}")
    if answer.status != 200:
        raise Misconfigured(
            f"ROOMKEEPER_ACCOUNTS: Zoom refuses the credentials of account {app.account_id}: {answer.message}"
        )
    document = answer.document or {}
    text, seconds, api_url = (document.get(name) for name in ("access_token", "expires_in", "api_url"))
    if not isinstance(text, str) or not isinstance(seconds, int):
        raise Unavailable(f"Zoom gave no token for account {app.account_id}: the answer could not be read")
    return Token(
        text=text,
        expires_at=answer.sent_at + timedelta(seconds=min(seconds, MOST_SECONDS)),
        api_url=api_url if isinstance(api_url, str) else None,
    )
