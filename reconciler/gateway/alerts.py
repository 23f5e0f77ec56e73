"""Alerts: what an operator should know of, as long as it lasts. A row, a log line when it begins and when it ends."""

from __future__ import annotations

import structlog

from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from zoom.client.client import Call, Reply
from zoom.client.decisions import Decision

TOKEN_UNAVAILABLE = "zoom_token_unavailable"  # noqa: S105 - the name of an alert
CREDENTIALS_REFUSED = "zoom_credentials_refused"
BREAKER_OPEN = "zoom_breaker_open"
APP_NOT_PERMITTED = "zoom_app_not_permitted"
WEBHOOK_GAP = "webhook_gap"


class AppAlerts:
    """Raises an alert when Zoom does not permit the app what it needs, and ends it when a call works; a gate."""

    def __init__(self, alerts: Alerts) -> None:
        """Through these alerts."""
        self._alerts = alerts
        self._working: set[str] = set()

    async def enter(self, _call: Call) -> Reply | None:
        """Lets everything through."""
        return None

    async def leave(self, call: Call, reply: Reply) -> None:
        """Look at the ruling. Raises `Unavailable`."""
        if reply.ruling.decision is Decision.ALERT and reply.answer is not None:
            self._working.discard(call.account_id)
            await self._alerts.begin(APP_NOT_PERMITTED, call.account_id, f"{call.endpoint.name}: {reply.message}")
        elif reply.ruling.decision is Decision.DONE and call.account_id not in self._working:
            self._working.add(call.account_id)
            await self._alerts.end(APP_NOT_PERMITTED, call.account_id)


class Alerts:
    """Raises and ends alerts; both may be said again and again."""

    def __init__(self, database: AsyncDatabase, *, clock: Clock) -> None:
        """Kept in this database."""
        self._statements = Statements(database)
        self._clock = clock
        self._log = structlog.get_logger("roomkeeper.alerts")

    async def begin(self, name: str, account_id: str, message: str) -> None:
        """Something is wrong. Raises `Unavailable`."""
        values = {"name": name, "account_id": account_id, "message": message, "now": self._clock.now()}
        if await self._changed("raise_alert", values):
            self._log.error("alert.begun", alert=name, account=account_id, message=message)

    async def end(self, name: str, account_id: str) -> None:
        """It is right again. Raises `Unavailable`."""
        if await self._changed("end_alert", {"name": name, "account_id": account_id, "now": self._clock.now()}):
            self._log.info("alert.ended", alert=name, account=account_id)

    async def _changed(self, query: str, values: dict[str, object]) -> bool:
        return await self._statements.one(query, **values) is not None
