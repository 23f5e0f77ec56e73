"""Zoom's webhook signature and the answer to its challenge.

Source: Zoom's webhook page: `v0=` and the hex HMAC-SHA256, under the app's secret token, of `v0:{timestamp}:{body}`.
"""

from __future__ import annotations

import hmac


def sign(secret: str, *, timestamp: int, body: bytes) -> str:
    """The value of `x-zm-signature`."""
    message = b"v0:%d:%b" % (timestamp, body)
    return f"v0={hmac.digest(secret.encode(), message, 'sha256').hex()}"


def encrypted_token(secret: str, plain_token: str) -> str:
    """What an endpoint must answer to a challenge."""
    return hmac.digest(secret.encode(), plain_token.encode(), "sha256").hex()
