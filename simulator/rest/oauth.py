"""The token endpoint: server-to-server credentials for an access token.

Source: Zoom's server-to-server OAuth page and its list of OAuth errors. Parameters come in the form or the query; the
client's id and secret as Basic authorization.
"""

from __future__ import annotations

import hmac
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from datetime import datetime

from simulator.model import Account
from simulator.refusals import token_refusal
from simulator.service import Service
from simulator.wire import Json

GRANT = "account_credentials"


def token(
    service: Service, *, parameters: Mapping[str, str], authorization: str | None, api_url: str, now: datetime
) -> Json:
    """A new token.

    Raises:
        Refusal: in the token endpoint's own shape.
    """
    account = client(service, authorization)
    if parameters.get("grant_type") != GRANT:
        raise token_refusal("unsupported grant type", "unsupported_grant_type")
    if not parameters.get("account_id"):
        raise token_refusal("Missing parameter: account_id", "invalid_request")
    if account is None:
        raise token_refusal("Invalid client_id or client_secret", "invalid_client")
    if parameters["account_id"] != account.account_id:
        raise token_refusal("Bad Request", "invalid_request")
    return service.tokens.issue(account, api_url=api_url, now=now)


def client(service: Service, authorization: str | None) -> Account | None:
    """The account whose app these credentials are."""
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        client_id, _, secret = b64decode(encoded, validate=True).decode().partition(":")
    except (NotBase64, UnicodeDecodeError):
        return None
    for account in service.world.accounts.values():
        if account.client_id == client_id and hmac.compare_digest(account.client_secret.encode(), secret.encode()):
            return account
    return None
