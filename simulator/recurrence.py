"""The dates of a series, in the wall time of its zone: daily, weekly or monthly.

Source: the recurrence object of Zoom's meeting API. A date keeps its hour when the clocks change.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Any
from zoneinfo import ZoneInfo

from simulator.model import Occurrence
from simulator.wire import millis

DAILY, WEEKLY, MONTHLY = 1, 2, 3
_MOST_DATES = 60


def occurrences(
    recurrence: Mapping[str, Any], *, start_at: datetime, timezone: str, duration_minutes: int
) -> tuple[Occurrence, ...]:
    """Up to sixty dates from `start_at` on; one when the recurrence names neither an end nor a number."""
    local = start_at.astimezone(ZoneInfo(timezone)).replace(tzinfo=None)
    dates = _dates(recurrence, local)
    until = recurrence.get("end_date_time")
    if until and not recurrence.get("end_times"):
        last_at = datetime.fromisoformat(str(until))
        instants = takewhile(lambda at: at <= last_at, (_instant(each, timezone) for each in dates))
        chosen = islice(instants, _MOST_DATES)
    else:
        count = min(int(recurrence.get("end_times") or 1), _MOST_DATES)
        chosen = islice((_instant(each, timezone) for each in dates), count)
    return tuple(
        Occurrence(occurrence_id=str(millis(at)), start_at=at, duration_minutes=duration_minutes) for at in chosen
    )


def _dates(recurrence: Mapping[str, Any], first: datetime) -> Iterator[datetime]:
    kind, interval = int(recurrence.get("type", DAILY)), max(1, int(recurrence.get("repeat_interval") or 1))
    if kind == WEEKLY:
        yield from _weekly(first, interval, str(recurrence.get("weekly_days") or ""))
    elif kind == MONTHLY:
        yield from _monthly(first, interval, _day_of_month(recurrence, first))
    else:
        day = first
        while True:
            yield day
            day += timedelta(days=interval)


def _weekly(first: datetime, interval: int, weekly_days: str) -> Iterator[datetime]:
    # Zoom counts weekdays from Sunday = 1; Python's isoweekday has Sunday = 7.
    days = sorted(int(each) for each in weekly_days.split(",") if each.strip()) or [first.isoweekday() % 7 + 1]
    sunday = first - timedelta(days=first.isoweekday() % 7)
    while True:
        yield from (day for day in (sunday + timedelta(days=each - 1) for each in days) if day >= first)
        sunday += timedelta(weeks=interval)


def _day_of_month(recurrence: Mapping[str, Any], first: datetime) -> Callable[[datetime], int]:
    """Which day it is in a given month: a number, or a weekday of the n-th or last (-1) week."""
    week, weekday = recurrence.get("monthly_week"), recurrence.get("monthly_week_day")
    if week and weekday:
        return lambda month: _weekday_of_month(month, week=int(week), weekday=int(weekday))
    day = int(recurrence.get("monthly_day") or first.day)
    return lambda month: min(day, monthrange(month.year, month.month)[1])


def _weekday_of_month(month: datetime, *, week: int, weekday: int) -> int:
    begins_on, length = monthrange(month.year, month.month)
    # Zoom's Sunday is 1, monthrange's Monday is 0.
    first = (weekday - 2 - begins_on) % 7 + 1
    days = range(first, length + 1, 7)
    return days[-1] if week < 0 else days[min(week, len(days)) - 1]


def _monthly(first: datetime, interval: int, day_of: Callable[[datetime], int]) -> Iterator[datetime]:
    month = first.replace(day=1)
    while True:
        date = month.replace(day=day_of(month))
        if date >= first:
            yield date
        months = month.month - 1 + interval
        month = month.replace(year=month.year + months // 12, month=months % 12 + 1)


def _instant(local: datetime, timezone: str) -> datetime:
    return local.replace(tzinfo=ZoneInfo(timezone)).astimezone(UTC)
