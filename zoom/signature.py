"""Whether a webhook is Zoom's: the signature over the raw bytes, and the answer to Zoom's URL validation.

Guarantees: without a secret nothing is accepted; every active secret is tried in constant time; a timestamp more than
the window away on either side is refused; nothing is ever signed that could serve as the signature of an event.
Source: https://developers.zoom.us/docs/api/webhooks/ ("Verify with Zoom's header", "Validate your webhook endpoint").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest, digest
from typing import NamedTuple

from schemas.ids import AccountId

SIGNATURE_HEADER = b"x-zm-signature"
TIMESTAMP_HEADER = b"x-zm-request-timestamp"
REQUEST_ID_HEADER = b"x-zm-request-id"
URL_VALIDATION = "endpoint.url_validation"

_SIGNATURE = re.compile(rb"v0=[0-9a-f]{64}")
SECONDS_DIGITS = 11
"""Of epoch seconds; the thirteen digits of milliseconds are refused rather than guessed at."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""No colon and no brace: a string to sign (`v0:time:{...}`) is not a token."""

# RFC 2104, with the block of SHA-256.
_BLOCK_BYTES = 64
_INNER_PAD = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD = bytes(byte ^ 0x5C for byte in range(256))


class Refusal(StrEnum):
    """Why a request is not taken for Zoom's."""

    SECRET_MISSING = "secret_missing"  # noqa: S105 - a reason, not a secret
    SIGNATURE_MISSING = "signature_missing"
    SIGNATURE_ODD = "signature_odd"
    SIGNATURE_MISMATCH = "signature_mismatch"
    TIMESTAMP_MISSING = "timestamp_missing"
    TIMESTAMP_ODD = "timestamp_odd"
    TIMESTAMP_STALE = "timestamp_stale"


class Verified(NamedTuple):
    """What verified a request: the value that did, and every account for which it is configured and active."""

    value: bytes
    accounts: frozenset[AccountId]

    def __repr__(self) -> str:
        """Without the secret."""
        return f"Verified(accounts={sorted(self.accounts)})"


class _Signer:
    """HMAC-SHA256 under one key, with the key's own two blocks hashed once and for all."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        block = (sha256(key).digest() if len(key) > _BLOCK_BYTES else key).ljust(_BLOCK_BYTES, b"\0")
        self._inner = sha256(block.translate(_INNER_PAD))
        self._outer = sha256(block.translate(_OUTER_PAD))

    def signature(self, message: bytes) -> bytes:
        """The value of `x-zm-signature` for these bytes."""
        inner = self._inner.copy()
        inner.update(message)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return b"v0=" + outer.hexdigest().encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """One signing secret, and the accounts it speaks for: one app can be installed in several."""

    value: bytes = field(repr=False)
    accounts: frozenset[AccountId]
    expires_at: datetime | None = None
    """End of a rotation's overlap; None means it stays."""
    verified: Verified = field(init=False, repr=False, compare=False)
    """What a request is that this secret alone verified."""
    signer: _Signer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """What would otherwise be made for each request."""
        object.__setattr__(self, "verified", Verified(value=self.value, accounts=self.accounts))
        object.__setattr__(self, "signer", _Signer(self.value))


def verify(
    body: bytes,
    *,
    signature: bytes | None,
    timestamp: bytes | None,
    secrets: Sequence[Secret],
    now: datetime,
    window_seconds: int,
) -> Verified | Refusal:
    """Which secret signed these raw bytes, or why none did. Both ends of the window still count."""
    if signature is None:
        return Refusal.SIGNATURE_MISSING
    if timestamp is None:
        return Refusal.TIMESTAMP_MISSING
    if not timestamp.isdigit() or len(timestamp) > SECONDS_DIGITS:
        return Refusal.TIMESTAMP_ODD
    if abs(int(now.timestamp()) - int(timestamp)) > window_seconds:
        return Refusal.TIMESTAMP_STALE
    return _signer(b"v0:" + timestamp + b":" + body, signature=signature, secrets=secrets, now=now)


def sign(body: bytes, *, timestamp: bytes, secret: bytes) -> bytes:
    """The `x-zm-signature` that Zoom sends with this body."""
    return b"v0=" + digest(secret, b"v0:" + timestamp + b":" + body, "sha256").hex().encode()


def validation_answer(token: object, *, secret: bytes) -> dict[str, str] | None:
    """What Zoom wants to read back, made with the secret that signed its request; None for what is no plain token."""
    if not isinstance(token, str) or _TOKEN.fullmatch(token) is None:
        return None
    return {"plainToken": token, "encryptedToken": digest(secret, token.encode(), "sha256").hex()}


def _signer(message: bytes, *, signature: bytes, secrets: Sequence[Secret], now: datetime) -> Verified | Refusal:
    """Tries all active secrets, also after one has matched, so that the time taken says nothing about which."""
    active = 0
    verified: Verified | None = None
    for secret in secrets:
        if not secret.value or (secret.expires_at is not None and secret.expires_at <= now):
            continue
        active += 1
        if compare_digest(secret.signer.signature(message), signature):
            verified = secret.verified if verified is None else _together(verified, secret)
    if verified is not None:
        return verified
    if _SIGNATURE.fullmatch(signature) is None:
        return Refusal.SIGNATURE_ODD
    return Refusal.SIGNATURE_MISMATCH if active else Refusal.SECRET_MISSING


def _together(verified: Verified, secret: Secret) -> Verified:
    """Equal secrets with different ends of their overlap: all their accounts."""
    return Verified(value=secret.value, accounts=verified.accounts | secret.accounts)
