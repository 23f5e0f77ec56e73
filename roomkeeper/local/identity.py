"""Who the local Roomkeeper is: an invented Zoom account with its secrets, an encryption key, and an API key.

They are made once and kept beside the data that depend on them.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from ingress.keys import create_key, list_keys, parse_key
from runtime.cipher import new_key
from runtime.clock import Clock
from runtime.postgres import connect, translated
from runtime.settings import Account, PostgresSettings, WebhookSecret
from schemas.errors import Misconfigured

ACCOUNT_ID = "local"
_ROLE = "up"


class LocalIdentity(BaseModel):
    """The secrets, in clear: their file is readable by its owner alone."""

    model_config = ConfigDict(frozen=True)

    client_id: str
    client_secret: str
    webhook_secret: str
    encryption_key: str
    api_key: str | None = None

    def account(self, *, zoom_url: str) -> Account:
        """The account as Roomkeeper and the simulated Zoom at `zoom_url` both know it."""
        return Account(
            account_id=ACCOUNT_ID,
            webhook_secrets=(WebhookSecret(value=SecretStr(self.webhook_secret)),),
            client_id=self.client_id,
            client_secret=SecretStr(self.client_secret),
            gateway=True,
            api_url=zoom_url,
            token_url=f"{zoom_url}/oauth/token",
        )


def load_identity(file: Path) -> LocalIdentity:
    """What `file` holds, or a new identity, which it then holds.

    Raises:
        Misconfigured: it holds something else.
    """
    if file.exists():
        try:
            return LocalIdentity.model_validate_json(file.read_text(encoding="utf-8"))
        except ValidationError as error:
            raise Misconfigured(f"{file} is damaged: remove {file.parent}, and all begins anew") from error
    identity = LocalIdentity(
        client_id=secrets.token_urlsafe(16),
        client_secret=secrets.token_urlsafe(24),
        webhook_secret=secrets.token_urlsafe(16),
        encryption_key=new_key(),
    )
    return _keep(identity, file)


def with_api_key(
    identity: LocalIdentity, file: Path, *, postgres: PostgresSettings, account_id: str, clock: Clock
) -> LocalIdentity:
    """The identity with an API key for the account that the database knows, made where there is none in force.

    Raises:
        Unavailable: the database does not answer.
    """
    with connect(postgres, role=_ROLE) as connection, translated("make an API key"):
        presented = parse_key(identity.api_key) if identity.api_key else None
        if presented and any(key.opens(presented) for key in list_keys(connection, account_id=account_id)):
            return identity
        at = clock.now()
        api_key = create_key(connection, account_id=account_id, name=_ROLE, actor=f"roomkeeper {_ROLE}", at=at)
    return _keep(identity.model_copy(update={"api_key": api_key}), file)


def _keep(identity: LocalIdentity, file: Path) -> LocalIdentity:
    """Whole or not at all, also on a full disk."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(identity.model_dump_json(indent=2), encoding="utf-8")
    fresh.replace(file)
    return identity
