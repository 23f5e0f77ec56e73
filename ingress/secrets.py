"""The webhook secrets of all accounts, ready for checking: for the common path, and for each account's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from runtime.settings import Account
from schemas.errors import Misconfigured
from schemas.ids import AccountId
from zoom.signature import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Which secrets may verify a request. An account without secrets has none, so nothing is accepted for it."""

    shared: tuple[Secret, ...] = field(repr=False)
    """For `/webhooks/zoom`: every secret once, with all accounts it speaks for."""
    own: Mapping[str, tuple[Secret, ...]] = field(repr=False)
    """For `/webhooks/zoom/{account}`: that account's, speaking for that account alone."""


def secrets_of(accounts: Iterable[Account]) -> Secrets:
    """The secrets as the settings have them.

    Raises:
        Misconfigured: an account stands there twice.
    """
    own: dict[str, tuple[Secret, ...]] = {}
    for account in accounts:
        if account.account_id in own:
            raise Misconfigured(f"ROOMKEEPER_ACCOUNTS: {account.account_id} stands there twice")
        own[account.account_id] = tuple(_own(account))
    return Secrets(shared=_shared(own), own=own)


def _own(account: Account) -> Iterable[Secret]:
    speaks_for = frozenset({AccountId(account.account_id)})
    for secret in account.webhook_secrets:
        yield Secret(value=secret.value.get_secret_value().encode(), accounts=speaks_for, expires_at=secret.expires_at)


def _shared(own: Mapping[str, tuple[Secret, ...]]) -> tuple[Secret, ...]:
    """Equal secrets of several accounts as one, so that each costs one computation."""
    merged: dict[tuple[bytes, datetime | None], frozenset[AccountId]] = {}
    for secret in (each for many in own.values() for each in many):
        name = secret.value, secret.expires_at
        merged[name] = merged.get(name, frozenset()) | secret.accounts
    return tuple(
        Secret(value=value, accounts=accounts, expires_at=expires_at)
        for (value, expires_at), accounts in merged.items()
    )
