"""Access tokens of the server-to-server app.

Several live side by side, or, in the stricter way that some accounts have seen, a new one kills the old.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from simulator import refusals
from simulator.identifiers import Identifiers
from simulator.model import Account
from simulator.wire import Json

SCOPES = (
    "meeting:write:meeting:admin",
    "meeting:read:meeting:admin",
    "meeting:update:meeting:admin",
    "meeting:delete:meeting:admin",
    "meeting:update:status:admin",
    "meeting:read:list_meetings:admin",
    "meeting:read:list_upcoming_meetings:admin",
    "meeting:read:past_meeting:admin",
    "meeting:read:list_past_instances:admin",
    "meeting:read:list_past_participants:admin",
    "meeting:write:registrant:admin",
    "meeting:read:list_registrants:admin",
    "meeting:update:registrant_status:admin",
    "report:read:list_meeting_participants:admin",
    "marketplace_app:read:admin",
)
_TOKENS_KEPT = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    account: Account
    expires_at: datetime
    scopes: frozenset[str]


class Tokens:
    """Issues and checks access tokens."""

    def __init__(self, ids: Identifiers, *, lifetime_seconds: int) -> None:
        """Tokens live `lifetime_seconds` of true time."""
        self.lifetime_seconds = lifetime_seconds
        self.one_at_a_time = False
        self.scopes: tuple[str, ...] = SCOPES
        self.issued = 0
        self._ids = ids
        self._live: OrderedDict[str, _Token] = OrderedDict()

    def issue(self, account: Account, *, api_url: str, now: datetime) -> Json:
        """The answer with a new token."""
        if self.one_at_a_time:
            self.kill(account)
        text = f"eyJ{self._ids.opaque(60)}"
        expires_at = now + timedelta(seconds=self.lifetime_seconds)
        self._live[text] = _Token(account=account, expires_at=expires_at, scopes=frozenset(self.scopes))
        self.issued += 1
        if len(self._live) > _TOKENS_KEPT:
            self._live.popitem(last=False)
        answer: Json = {"access_token": text, "token_type": "bearer", "expires_in": self.lifetime_seconds}
        return answer | {"scope": " ".join(self.scopes), "api_url": api_url}

    def account_of(self, text: str | None, *, scope: str, now: datetime) -> Account:
        """The account whose live token this is.

        Raises:
            Refusal: unknown, expired, or without the scope.
        """
        token = self._live.get(text or "")
        if token is None:
            raise refusals.bad_token(expired=False)
        if token.expires_at <= now:
            raise refusals.bad_token(expired=True)
        if scope not in token.scopes:
            raise refusals.missing_scope(scope)
        return token.account

    def owner(self, text: str | None) -> Account | None:
        """Whose token this is, expired or not; None once it was killed."""
        token = self._live.get(text or "")
        return token.account if token else None

    def kill(self, account: Account) -> int:
        """Ends every token of the account, and says how many."""
        dead = [text for text, token in self._live.items() if token.account is account]
        for text in dead:
            del self._live[text]
        return len(dead)

    def all(self) -> list[str]:
        """Every token that lives."""
        return list(self._live)
