"""The poller's share of an account's rates: a gate that lets its calls through slowly, and so many a day.

Guarantees: over all processes and passes, the poller makes no more than its share of the calls that the account's
budget lets Roomkeeper make, each second and each day of a daily limit; the rest is the room worker's, whatever lags.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, date, timedelta

from reconciler.gateway.budgets import PLANS, Plan
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from runtime.settings import Settings
from zoom.client.client import Call, Reply
from zoom.client.decisions import Decision, Ruling
from zoom.client.limits import midnight_after

SCOPE = "poller"
"""Of its slots and of its budgets of the day."""
PATIENCE = timedelta(seconds=60)
"""A turn further away than that ends the account's part of a pass."""


class Share:
    """Reserves calls; a gate of the client."""

    def __init__(self, database: AsyncDatabase, *, settings: Settings, clock: Clock) -> None:
        """Shares are in the settings; slots are kept in this database."""
        self._statements = Statements(database)
        self._plans = {account.account_id: account.plan for account in settings.accounts}
        self._share = settings.zoom.rate_share * settings.poller.share
        self._clock = clock

    async def enter(self, call: Call) -> Reply | None:
        """Wait for the call's turn; a reply where the day's share is used up.

        Raises:
            Unavailable: the database is away.
        """
        while True:
            day = self._day()
            if not await self._reserve_day(call, day):
                ruling = Ruling(decision=Decision.PARK, reason="poller_share_used_up")
                return Reply(ruling=ruling, not_before=midnight_after(self._clock.now()))
            wait_seconds = await self._slot(call)
            if wait_seconds is None:
                await self._give_back(call, day)
                return Reply(ruling=Ruling(decision=Decision.RETRY, reason="rate_budget"))
            await asyncio.sleep(wait_seconds)
            if day == self._day():
                return None
            await self._give_back(call, day)  # midnight passed while it waited: it counts on the new day

    async def leave(self, call: Call, reply: Reply) -> None:
        """Take back what was never sent. Raises `Unavailable`."""
        if reply.answer is None and not reply.sent:
            await self._give_back(call, self._day())

    async def _reserve_day(self, call: Call, day: date) -> bool:
        most = self._plan(call).per_day.get(call.endpoint.label)
        if most is None:
            return True
        budget = max(1, int(most * self._share))
        return await self._statements.one("reserve_day", **_named(call, day), most=budget) is not None

    async def _give_back(self, call: Call, day: date) -> None:
        if call.endpoint.label in self._plan(call).per_day:
            await self._statements.run("give_back_day", **_named(call, day))

    async def _slot(self, call: Call) -> float | None:
        """Seconds until the call's turn; None where that is too long."""
        row = await self._statements.one(
            "reserve_slot",
            account_id=call.account_id,
            label=f"{SCOPE} {call.endpoint.label}",
            spacing=timedelta(seconds=1.0 / (self._plan(call).per_second[call.endpoint.label] * self._share)),
            patience=PATIENCE,
        )
        return None if row is None else float(row["wait_seconds"])

    def _plan(self, call: Call) -> Plan:
        return PLANS[self._plans.get(call.account_id, "free")]

    def _day(self) -> date:
        return self._clock.now().astimezone(UTC).date()


def _named(call: Call, day: date) -> dict[str, object]:
    return {"account_id": call.account_id, "scope": SCOPE, "name": call.endpoint.label, "day": day}
