"""Webhook gaps: an account or a host that has fallen silent against its own habit.

For each hour of the day, apart for workdays and weekends, it is kept in how many of the watched hours something was
heard. How likely a silence is follows from the hours it lasts; one that is hardly likely is a gap. Nights that are
always silent are no gaps, and hours of a gap are no habit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from reconciler.gateway.alerts import WEBHOOK_GAP, Alerts
from reconciler.poller.silences import Silences
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.settings import PollerSettings

LEAST_HOURS = 3
"""An hour that was watched less often says nothing."""
LONGEST = timedelta(days=7)
"""Who was silent for longer has stopped, and is no gap."""
HOUR = timedelta(hours=1)
ACCOUNT = ""
"""The name under which an account itself is kept."""

Slots = Mapping[str, Sequence[int]]
"""By slot how many hours were watched, and in how many of them something was heard."""


def slot_of(at: datetime) -> int:
    """The hour of the day, UTC; 24 more at weekends."""
    utc = at.astimezone(UTC)
    return utc.hour + (24 if utc.isoweekday() > 5 else 0)


def chance_of_silence(since: datetime, now: datetime, slots: Slots) -> float:
    """How likely it is that nothing is heard from then to now."""
    chance, at = 1.0, since
    while at < now:
        begins = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        until = min(begins + HOUR, now)
        chance *= float((1.0 - _share(slots, slot_of(at))) ** ((until - at) / HOUR))
        at = until
    return chance


class WebhookHabits:
    """Watches who is heard."""

    def __init__(self, statements: Statements, *, alerts: Alerts, settings: PollerSettings, clock: Clock) -> None:
        """Kept in the poller's tables."""
        self._statements = statements
        self._alerts = alerts
        self._settings = settings
        self._clock = clock

    async def observe(self, account_id: str) -> Silences:
        """Note who was heard, and say who is silent against habit.

        Raises:
            Unavailable: the database is away.
        """
        now = self._clock.now()
        await self._statements.run("note_heard", account_id=account_id, now=now)
        await self._statements.run("close_hours", account_id=account_id, now=now)
        before = now - timedelta(seconds=self._settings.gap_seconds)
        rows = await self._statements.many("find_silent", account_id=account_id, before=before, oldest=now - LONGEST)
        silent = {
            row["host_id"]: row["heard_at"]
            for row in rows
            if chance_of_silence(row["heard_at"], now, row["slots"]) < self._settings.gap_chance
        }
        await self._statements.run("note_silences", account_id=account_id, silent=sorted(silent))
        found = silences_of(silent)
        if found.account_since is not None:
            words = f"No webhook since {found.account_since:%Y-%m-%d %H:%M} UTC, against the account's habit."
            await self._alerts.begin(WEBHOOK_GAP, account_id, words)
        else:
            await self._alerts.end(WEBHOOK_GAP, account_id)
        return found


async def newest_silences(statements: Statements, account_id: str) -> Silences:
    """Who was found silent by the newest pass. Raises `Unavailable`."""
    rows = await statements.many("find_silences", account_id=account_id)
    return silences_of({row["host_id"]: row["silent_since"] for row in rows})


def silences_of(silent: Mapping[str, datetime]) -> Silences:
    """The same by account and hosts."""
    hosts = {host_id: since for host_id, since in silent.items() if host_id != ACCOUNT}
    return Silences(account_since=silent.get(ACCOUNT), hosts=hosts)


def _share(slots: Slots, slot: int) -> float:
    """The share of such hours in which something was heard; a little less than all, however many there were."""
    hours, heard = slots.get(str(slot), (0, 0))
    return heard / (hours + 1) if hours >= LEAST_HOURS else 0.0
