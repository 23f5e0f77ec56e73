"""Which account a caller may act for. Keys are looked up once in a few seconds, so a revoked one stops working soon.

Guarantee: an answer is never older than `key_cache_seconds`; when the database does not answer, nobody is let in on an
older one. Memory is bounded, also against callers who try many keys.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from ingress.keys import ApiKey, parse_key
from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from runtime.queries import queries
from schemas.ids import AccountId

MOST_KEYS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: one key, for one account."""

    account_id: AccountId
    key_id: str

    @property
    def issued_by(self) -> str:
        """As commands name their issuer."""
        return f"key:{self.key_id}"


class KeyRing:
    """Finds callers by their keys."""

    def __init__(self, database: AsyncDatabase, *, clock: Clock, cache_seconds: float) -> None:
        """Nothing is read before the first caller comes."""
        self._database = database
        self._clock = clock
        self._cache_seconds = cache_seconds
        self._known: OrderedDict[str, tuple[float, ApiKey | None]] = OrderedDict()

    async def caller(self, token: str) -> Caller | None:
        """The caller who presents this key; None when it does not hold.

        Raises:
            Unavailable: the database does not answer.
        """
        presented = parse_key(token)
        if presented is None:
            return None
        key = await self._key(presented.key_id)
        if key is None or not key.opens(presented):
            return None
        return Caller(account_id=key.account_id, key_id=key.key_id)

    async def _key(self, key_id: str) -> ApiKey | None:
        asked_at = self._clock.monotonic_seconds()
        known = self._known.get(key_id)
        if known is not None and asked_at - known[0] < self._cache_seconds:
            return known[1]
        async with self._database.connection("look up an API key") as connection:
            cursor = await connection.execute(queries("ingress")["find_key"], {"key_id": key_id})
            row = await cursor.fetchone()
        key = None if row is None else ApiKey(**row)
        self._known[key_id] = (asked_at, key)
        self._known.move_to_end(key_id)
        while len(self._known) > MOST_KEYS:
            self._known.popitem(last=False)
        return key
