"""Zoom's limits, kept before Zoom has to enforce them: calls a second of each label, and budgets of the UTC day.

Guarantees: every call of every process is reserved before it is made, on the day on which it is sent; a host's hundred
creates and updates a day are not exceeded by us, whether the host is named by id or by e-mail address; what Zoom itself
says is used up counts as used up. Calls of one label take turns in the order in which they asked. Source: Zoom's
rate-limit page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Any

from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from runtime.settings import ZoomSettings
from zoom.client.client import Call, Reply
from zoom.client.decisions import Decision, Ruling
from zoom.client.endpoints import REGISTER, REGISTRANT_STATUS, Label
from zoom.client.limits import Scope, midnight_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an account's plan allows."""

    per_second: Mapping[Label, int]
    per_day: Mapping[Label, int]


PLANS: Mapping[str, Plan] = {
    "free": Plan(
        per_second={Label.LIGHT: 4, Label.MEDIUM: 2, Label.HEAVY: 1},
        per_day={Label.LIGHT: 6_000, Label.MEDIUM: 2_000, Label.HEAVY: 1_000},
    ),
    "pro": Plan(per_second={Label.LIGHT: 30, Label.MEDIUM: 20, Label.HEAVY: 10}, per_day={Label.HEAVY: 30_000}),
    "business": Plan(per_second={Label.LIGHT: 80, Label.MEDIUM: 60, Label.HEAVY: 40}, per_day={Label.HEAVY: 60_000}),
}
REGISTRANT_DAILY = 3
STATUS_DAILY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """One budget of the day that a call draws on."""

    scope: str
    name: str
    most: int


class Budgets:
    """Reserves calls; a gate of the client."""

    def __init__(
        self, database: AsyncDatabase, *, plans: Mapping[str, str], settings: ZoomSettings, clock: Clock
    ) -> None:
        """`plans` names each account's plan."""
        self._statements = Statements(database)
        self._plans = plans
        self._settings = settings
        self._clock = clock
        self._newest_day: date | None = None
        self._reserved: dict[int, date] = {}

    async def enter(self, call: Call) -> Reply | None:
        """Wait for the call's turn; a reply where a budget of the day is used up, or the turn is too far away.

        Raises:
            Unavailable: the database is away.
        """
        while True:
            day = await self._day()
            stopped = await self._reserve_all(call, day)
            if stopped is not None:
                return stopped
            wait_seconds = await self._slot(call)
            if wait_seconds is None:
                await self._give_back(call, self._drawn_on(call), day)
                return self._crowded()
            await asyncio.sleep(wait_seconds)
            if day == self._today():
                self._reserved[id(call)] = day
                return None
            # Midnight passed while it waited: Zoom will count it on the new day.
            await self._give_back(call, self._drawn_on(call), day)

    async def leave(self, call: Call, reply: Reply) -> None:
        """Believe Zoom about what is used up, and take back what was never sent. Raises `Unavailable`."""
        day = self._reserved.pop(id(call), None) or self._today()
        if reply.ruling.decision is Decision.PARK and reply.scope is not Scope.ACCOUNT:
            for budget in self._drawn_on(call):
                if budget.scope == reply.scope:
                    await self._statements.run("exhaust_day", **_named(call, budget, day), most=budget.most)
        if reply.answer is None and not reply.sent:
            await self._give_back(call, self._drawn_on(call), day)

    async def _reserve_all(self, call: Call, day: date) -> Reply | None:
        """None once every budget of the day has it; else nothing is taken, and the reply says whose was used up."""
        reserved: list[Budget] = []
        for budget in self._drawn_on(call):
            if not await self._reserve(call, budget, day):
                await self._give_back(call, reserved, day)
                return self._used_up(budget)
            reserved.append(budget)
        return None

    def _drawn_on(self, call: Call) -> list[Budget]:
        plan = PLANS[self._plans.get(call.account_id, "free")]
        budgets = []
        if call.endpoint.host_budget and call.host is not None:
            budgets.append(Budget(scope="host", name=call.host, most=self._settings.host_daily))
        if call.endpoint is REGISTER:
            name = f"{call.meeting}|{call.registrant}"
            budgets.append(Budget(scope="registrant", name=name, most=REGISTRANT_DAILY))
        if call.endpoint is REGISTRANT_STATUS:
            budgets.append(Budget(scope="status", name=call.meeting or "", most=STATUS_DAILY))
        most = plan.per_day.get(call.endpoint.label)
        if most is not None:
            share = max(1, int(most * self._settings.rate_share))
            budgets.append(Budget(scope="label", name=call.endpoint.label, most=share))
        return budgets

    async def _reserve(self, call: Call, budget: Budget, day: date) -> bool:
        return await self._statements.one("reserve_day", **_named(call, budget, day), most=budget.most) is not None

    async def _give_back(self, call: Call, budgets: list[Budget], day: date) -> None:
        for budget in budgets:
            await self._statements.run("give_back_day", **_named(call, budget, day))

    async def _slot(self, call: Call) -> float | None:
        """Seconds until the call's turn; None where that is too long."""
        plan = PLANS[self._plans.get(call.account_id, "free")]
        per_second = plan.per_second[call.endpoint.label] * self._settings.rate_share
        row = await self._statements.one(
            "reserve_slot",
            account_id=call.account_id,
            label=call.endpoint.label,
            spacing=timedelta(seconds=1.0 / per_second),
            patience=timedelta(seconds=self._settings.rate_wait_seconds),
        )
        return None if row is None else float(row["wait_seconds"])

    def _used_up(self, budget: Budget) -> Reply:
        scope = Scope.HOST if budget.scope == "host" else Scope.ACCOUNT
        if budget.scope in ("registrant", "status"):
            scope = Scope.REGISTRANT
        ruling = Ruling(decision=Decision.PARK, reason=f"{budget.scope}_budget_used_up")
        return Reply(ruling=ruling, scope=scope, not_before=midnight_after(self._clock.now()))

    def _crowded(self) -> Reply:
        not_before = self._clock.now() + timedelta(seconds=self._settings.rate_wait_seconds)
        return Reply(ruling=Ruling(decision=Decision.RETRY, reason="rate_budget"), not_before=not_before)

    async def _day(self) -> date:
        """Today, by UTC; when it is a new one, days gone by are forgotten."""
        today = self._today()
        if today != self._newest_day:
            self._newest_day = today
            await self._statements.run("forget_days", day=today)
        return today

    def _today(self) -> date:
        return self._clock.now().astimezone(UTC).date()


def _named(call: Call, budget: Budget, day: date) -> dict[str, Any]:
    return {"account_id": call.account_id, "scope": budget.scope, "name": budget.name, "day": day}
