"""Each account's circuit breaker, shared by all processes: when Zoom fails again and again, nobody calls for a while.

Guarantees: only failures of Zoom or of the way to it count: no answer, or a 5xx. A 4xx is an answer and a 429 asks for
patience; neither opens it nor hides failures. After the pause exactly one call is let through; whatever Zoom answers
closes the breaker, another failure opens it again, and a call that is given up frees the place. A process that dies
with that call holds the place no longer than one call can last.
"""

from __future__ import annotations

from datetime import timedelta

from reconciler.gateway.alerts import BREAKER_OPEN, Alerts
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from runtime.settings import ZoomSettings
from zoom.client.client import CANCELLED, Call, Reply
from zoom.client.decisions import Decision, Ruling

TRIAL_SECONDS = 20.0
"""The one call's wait for its turn and its time-out, by default."""
TRUST_SECONDS = 1.0
"""A breaker that was seen closed is not looked at again for so long."""
LOOK_SECONDS = 1.0
"""Whoever finds it open looks again after so long at the earliest."""
_FAILURES = frozenset({"server_error", "no_answer", "timeout", "unreachable", "unreadable_success"})


class Breakers:
    """Lets calls through, or not; a gate of the client."""

    def __init__(
        self,
        database: AsyncDatabase,
        *,
        settings: ZoomSettings,
        alerts: Alerts,
        clock: Clock,
        trial_seconds: float = TRIAL_SECONDS,
    ) -> None:
        """Kept in this database, and measured by its clock; `trial_seconds` is the most that one call lasts."""
        self._statements = Statements(database)
        self._settings = settings
        self._alerts = alerts
        self._clock = clock
        self._trial = timedelta(seconds=trial_seconds)
        self._closed_at: dict[str, float] = {}
        self._failing: set[str] = set()
        self._probes: set[int] = set()

    async def enter(self, call: Call) -> Reply | None:
        """None while the breaker is closed, and for the one call that tries whether it can be closed.

        Raises:
            Unavailable: the database is away.
        """
        account_id = call.account_id
        seen_at = self._closed_at.get(account_id)
        if seen_at is not None and 0 <= self._clock.monotonic_seconds() - seen_at < TRUST_SECONDS:
            return None
        row = await self._statements.one("find_breaker", account_id=account_id)
        if row is None or row["state"] == "closed":
            self._closed_at[account_id] = self._clock.monotonic_seconds()
            self._note_failing(account_id, failing=row is not None and row["failures"] > 0)
            return None
        if await self._statements.one("take_probe", account_id=account_id, probe=self._trial) is not None:
            self._probes.add(id(call))
            return None
        # The one call ends soon, whatever the most is that it may take: then everybody may call again, or nobody.
        left_seconds = 0.0 if row["state"] == "half_open" else float(row["left_seconds"])
        left = timedelta(seconds=max(left_seconds, LOOK_SECONDS))
        ruling = Ruling(decision=Decision.RETRY, reason="breaker_open")
        return Reply(ruling=ruling, not_before=self._clock.now() + left)

    async def leave(self, call: Call, reply: Reply) -> None:
        """Count what happened to the call. Raises `Unavailable`."""
        account_id = call.account_id
        is_probe = id(call) in self._probes
        self._probes.discard(id(call))
        if reply is CANCELLED:
            if is_probe:
                await self._statements.run("free_probe", account_id=account_id)
        elif reply.ruling.reason in _FAILURES:
            await self._failed(account_id)
        elif reply.answer is not None and (is_probe or reply.ruling.decision is Decision.DONE):
            await self._answered(account_id, is_probe=is_probe)
        elif is_probe:
            await self._statements.run("free_probe", account_id=account_id)  # it was stopped before it reached Zoom

    async def _failed(self, account_id: str) -> None:
        self._closed_at.pop(account_id, None)
        self._note_failing(account_id, failing=True)
        row = await self._statements.one(
            "count_failure",
            account_id=account_id,
            limit=self._settings.breaker_failures,
            pause=timedelta(seconds=self._settings.breaker_seconds),
        )
        if row is not None and row["state"] == "open":
            await self._alerts.begin(
                BREAKER_OPEN, account_id, "Zoom fails; calls are paused and tried again by itself."
            )

    async def _answered(self, account_id: str, *, is_probe: bool) -> None:
        if not is_probe and account_id not in self._failing:
            return
        self._note_failing(account_id, failing=False)
        await self._statements.run("close_breaker", account_id=account_id)
        await self._alerts.end(BREAKER_OPEN, account_id)

    def _note_failing(self, account_id: str, *, failing: bool) -> None:
        (self._failing.add if failing else self._failing.discard)(account_id)
