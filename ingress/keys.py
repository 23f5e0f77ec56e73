"""API keys: `rk_<key id>_<secret>`, each for one account, kept only as a hash.

The secret is 256 random bits, so a plain SHA-256 of it cannot be reversed by guessing. Making and revoking a key is
noted in `audit` in the same transaction.
"""

from __future__ import annotations

import base64
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest

from runtime.postgres import Connection
from runtime.queries import queries
from schemas.ids import AccountId

_FORM = re.compile(r"rk_(?P<key_id>[a-z2-7]{12})_(?P<secret>[A-Za-z0-9_-]{43})")
_QUERIES = "ingress"
NAME_CHARS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentedKey:
    """A key as a caller sent it."""

    key_id: str
    key_hash: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as the database knows it."""

    key_id: str
    account_id: AccountId
    name: str
    key_hash: bytes = field(repr=False)
    created_at: datetime
    revoked_at: datetime | None

    def opens(self, presented: PresentedKey) -> bool:
        """Whether what was presented is this key, and it is in force. Takes the same time either way."""
        return compare_digest(self.key_hash, presented.key_hash) and self.revoked_at is None


def parse_key(text: str) -> PresentedKey | None:
    """The key in this text; None when it has not the form of one."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    return PresentedKey(key_id=found["key_id"], key_hash=sha256(found["secret"].encode()).digest())


def create_key(connection: Connection, *, account_id: str, name: str, actor: str, at: datetime) -> str:
    """A new key in clear: the only time that anybody sees it."""
    key_id = base64.b32encode(secrets.token_bytes(8)).decode().lower()[:12]
    secret = secrets.token_urlsafe(32)
    connection.execute(
        queries(_QUERIES)["create_key"],
        {
            "key_id": key_id,
            "account_id": account_id,
            "name": name,
            "key_hash": sha256(secret.encode()).digest(),
            "at": at,
            "actor": actor,
        },
    )
    return f"rk_{key_id}_{secret}"


def list_keys(connection: Connection, *, account_id: str | None = None) -> list[ApiKey]:
    """The keys of an account, or all, oldest first."""
    rows = connection.execute(queries(_QUERIES)["list_keys"], {"account_id": account_id}).fetchall()
    return [ApiKey(**row) for row in rows]


def revoke_key(connection: Connection, *, key_id: str, actor: str, reason: str | None, at: datetime) -> bool:
    """Whether there was such a key in force; within `key_cache_seconds` no process takes it any more."""
    values = {"key_id": key_id, "actor": actor, "reason": reason, "at": at}
    return connection.execute(queries(_QUERIES)["revoke_key"], values).fetchone() is not None
