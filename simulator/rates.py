"""Zoom's rate limits: per account and label, a hundred creates and updates a day per host, three adds per registrant.

Source: Zoom's rate-limit page. Days are UTC days. A deletion is not counted in the host's hundred. Limits run in true
time, whatever the simulator's speed.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import date, datetime
from enum import StrEnum

from simulator import too_many
from simulator.config import Plan


class Label(StrEnum):
    """The weight that Zoom gives an endpoint."""

    LIGHT = "Light"
    MEDIUM = "Medium"
    HEAVY = "Heavy"


HOST_DAILY = 100
REGISTRANT_DAILY = 3
STATUS_DAILY = 10

_PER_SECOND = {
    Plan.FREE: {Label.LIGHT: 4, Label.MEDIUM: 2, Label.HEAVY: 1},
    Plan.PRO: {Label.LIGHT: 30, Label.MEDIUM: 20, Label.HEAVY: 10},
    Plan.BUSINESS: {Label.LIGHT: 80, Label.MEDIUM: 60, Label.HEAVY: 40},
}
_PER_DAY = {
    Plan.FREE: {Label.LIGHT: 6_000, Label.MEDIUM: 2_000, Label.HEAVY: 1_000},
    Plan.PRO: {Label.HEAVY: 30_000},
    Plan.BUSINESS: {Label.HEAVY: 60_000},
}
_DAYS_KEPT = 200_000


class RateLimits:
    """Counts calls and refuses those that are too many."""

    def __init__(self, *, enforced: bool = True) -> None:
        """With `enforced` off, calls are counted but none is refused."""
        self.enforced = enforced
        self._seconds: dict[Hashable, tuple[int, int]] = {}
        self._days: dict[Hashable, int] = {}
        self._day: date | None = None
        self._peaks: dict[str, int] = {}

    def charge_account(self, account_id: str, *, plan: Plan, label: Label, now: datetime) -> None:
        """One call of the account.

        Raises:
            Refusal: too many in this second or day.
        """
        second, count = self._seconds.get((account_id, label), (0, 0))
        present = int(now.timestamp())
        count = count + 1 if second == present else 1
        self._seconds[account_id, label] = (present, count)
        used = self._count("account", account_id, label, now=now)
        if not self.enforced:
            return
        most = _PER_DAY[plan].get(label)
        if most is not None and used > most:
            raise too_many.daily(label, limit=most, now=now)
        if count > _PER_SECOND[plan][label]:
            raise too_many.per_second(label)

    def charge_host(self, account_id: str, *, host_id: str, now: datetime) -> None:
        """One create or update for the host.

        Raises:
            Refusal: the host's hundred of this UTC day are used up.
        """
        used = self._count("host", account_id, host_id, now=now)
        self._peaks[host_id] = max(used, self._peaks.get(host_id, 0))
        if self.enforced and used > HOST_DAILY:
            spent = self._days.get(("account", account_id, Label.LIGHT), 0)
            raise too_many.host_daily(HOST_DAILY, used=spent)

    def charge_registrant(self, number: int, *, email: str, now: datetime) -> None:
        """One add of a person to a meeting.

        Raises:
            Refusal: more than three a day.
        """
        if self._count("registrant", number, email.casefold(), now=now) > REGISTRANT_DAILY and self.enforced:
            raise too_many.registrant_daily(REGISTRANT_DAILY, email)

    def charge_status(self, number: int, *, now: datetime) -> None:
        """One change of registrants' status in a meeting.

        Raises:
            Refusal: more than ten a day.
        """
        if self._count("status", number, now=now) > STATUS_DAILY and self.enforced:
            raise too_many.daily(Label.MEDIUM, limit=STATUS_DAILY, now=now)

    def host_calls(self) -> dict[str, int]:
        """Creates and updates of the present UTC day, refused ones included, by host id."""
        return {str(key[2]): used for key, used in self._days.items() if isinstance(key, tuple) and key[0] == "host"}

    def host_peaks(self) -> dict[str, int]:
        """The same of each host's busiest UTC day so far."""
        return dict(self._peaks)

    def _count(self, *key: Hashable, now: datetime) -> int:
        if now.date() != self._day or len(self._days) > _DAYS_KEPT:
            self._day = now.date()
            self._days.clear()
        self._days[key] = self._days.get(key, 0) + 1
        return self._days[key]
