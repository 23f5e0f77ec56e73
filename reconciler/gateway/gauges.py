"""What processes share towards Zoom, as gauges: queue, breakers, budgets, alerts. Every room worker shows the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC

from reconciler.gateway.alerts import (
    APP_NOT_PERMITTED,
    BREAKER_OPEN,
    CREDENTIALS_REFUSED,
    TOKEN_UNAVAILABLE,
    WEBHOOK_GAP,
)
from reconciler.gateway.budgets import PLANS, REGISTRANT_DAILY, STATUS_DAILY
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.metrics.catalogue.rooms import ROOMS_QUEUE, ROOMS_QUEUE_AGE
from runtime.metrics.catalogue.shared import ALERTS
from runtime.metrics.catalogue.zoom import ZOOM_BREAKER, ZOOM_BUDGET_LEFT
from runtime.metrics.registry import Metrics
from runtime.postgres import AsyncDatabase
from runtime.settings import Settings

_ALERTS = (TOKEN_UNAVAILABLE, CREDENTIALS_REFUSED, BREAKER_OPEN, APP_NOT_PERMITTED, WEBHOOK_GAP)
_BREAKER: Mapping[str, float] = {"closed": 0.0, "half_open": 0.5, "open": 1.0}


class Gauges:
    """Reads the shared state and shows it; a chore."""

    def __init__(self, database: AsyncDatabase, *, settings: Settings, metrics: Metrics, clock: Clock) -> None:
        """Of all accounts in the settings."""
        self._statements = Statements(database)
        self._settings = settings
        self._metrics = metrics
        self._clock = clock

    async def run_once(self) -> int:
        """Look and show; there is never more to do at once. Raises `Unavailable`."""
        now = self._clock.now()
        accounts = [account.account_id for account in self._settings.accounts]
        for row in await self._statements.many("gauge_accounts", accounts=accounts, now=now):
            account = row["account_id"]
            for state in ("due", "leased", "later"):
                self._metrics.gauge(ROOMS_QUEUE, account=account, state=state).set(row[state])
            age_seconds = max(0.0, (now - row["oldest_at"]).total_seconds()) if row["oldest_at"] else 0.0
            self._metrics.gauge(ROOMS_QUEUE_AGE, account=account).set(age_seconds)
            self._metrics.gauge(ZOOM_BREAKER, account=account).set(_BREAKER[row["breaker"]])
            for alert in _ALERTS:
                self._metrics.gauge(ALERTS, account=account, alert=alert).set(alert in row["alerts"])
        await self._budgets(accounts)
        return 0

    async def _budgets(self, accounts: Sequence[str]) -> None:
        day = self._clock.now().astimezone(UTC).date()
        rows = await self._statements.many("gauge_budgets", accounts=accounts, day=day)
        used = {(row["account_id"], row["scope"], row["label"]): int(row["used"]) for row in rows}
        for account in self._settings.accounts:
            most: dict[str, int] = {"host": self._settings.zoom.host_daily}
            most |= {"registrant": REGISTRANT_DAILY, "status": STATUS_DAILY}
            left = {scope: full - used.get((account.account_id, scope, ""), 0) for scope, full in most.items()}
            share = self._settings.zoom.rate_share
            labels = [
                max(1, int(full * share)) - used.get((account.account_id, "label", label), 0)
                for label, full in PLANS[account.plan].per_day.items()
            ]
            for scope, calls in {**left, "label": min(labels)}.items():
                self._metrics.gauge(ZOOM_BUDGET_LEFT, account=account.account_id, scope=scope).set(calls)
