"""When the meetings of a series are: each at the same wall time, whatever the clocks do in between.

The rules are Zoom's: weekdays count from 1 (Sunday) to 7, the last week of a month is -1, a series ends after a number
of meetings or at a time. Source: Zoom's Meetings API, `recurrence` of `POST /users/{userId}/meetings`.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import count, islice

from schemas.records.meeting_commands import MeetingDetails, Recurrence
from schemas.schedule import instant_of, zone_named

DAILY, WEEKLY, MONTHLY = 1, 2, 3
MOST_OCCURRENCES = 60
"""Zoom makes no more of a series."""
_LOOK_DAYS = 40 * 366
"""Where the search for dates ends: sixty months at the widest interval, and February 29th, lie within."""


def occurrences(details: MeetingDetails) -> tuple[datetime, ...]:
    """The instants at which the meeting starts: one, or those of its series, at most sixty."""
    rule = details.recurrence
    if rule is None:
        return (details.start_at,)
    first = datetime.fromisoformat(details.start_local)
    zone = zone_named(details.timezone)
    most = min(rule.end_times or MOST_OCCURRENCES, MOST_OCCURRENCES)
    found = (instant_of(datetime.combine(day, first.time()), zone) for day in _days(rule, first.date()))
    return tuple(at for at in islice(found, most) if rule.end_at is None or at <= rule.end_at)


def ends_at(details: MeetingDetails) -> datetime:
    """When the meeting is over by its schedule; of a series, its last meeting."""
    dates = occurrences(details)
    return max(dates, default=details.start_at) + timedelta(minutes=details.duration_minutes)


def _days(rule: Recurrence, first: date) -> Iterator[date]:
    every = max(rule.repeat_interval, 1)
    match rule.type:
        case 1:
            return _every(first, every)
        case 2:
            return _weekly(first, every, _weekdays(rule.weekly_days, first))
        case _:
            return _monthly(rule, first, every)


def _every(first: date, days: int) -> Iterator[date]:
    return (first + timedelta(days=step * days) for step in range(_LOOK_DAYS // days))


def _weekly(first: date, every: int, weekdays: frozenset[int]) -> Iterator[date]:
    sunday = first - timedelta(days=_weekday(first) - 1)
    for week in range(_LOOK_DAYS // (7 * every)):
        for weekday in sorted(weekdays):
            day = sunday + timedelta(days=week * every * 7 + weekday - 1)
            if day >= first:
                yield day


def _monthly(rule: Recurrence, first: date, every: int) -> Iterator[date]:
    for step in count(0, every):
        year, month = first.year + (first.month - 1 + step) // 12, (first.month - 1 + step) % 12 + 1
        if step > _LOOK_DAYS // 30 or year > date.max.year:
            return
        day = _day_of(rule, first, year, month)
        if day is not None and day >= first:
            yield day


def _day_of(rule: Recurrence, first: date, year: int, month: int) -> date | None:
    """The series' day in a month; None in a month that has no such day."""
    last = monthrange(year, month)[1]
    if rule.monthly_week is None:
        day = rule.monthly_day or first.day
        return date(year, month, day) if day <= last else None
    weekday = rule.monthly_week_day or _weekday(first)
    if rule.monthly_week < 0:
        end = date(year, month, last)
        return end - timedelta(days=(_weekday(end) - weekday) % 7)
    begin = date(year, month, 1)
    return begin + timedelta(days=(weekday - _weekday(begin)) % 7 + 7 * (rule.monthly_week - 1))


def _weekdays(text: str | None, first: date) -> frozenset[int]:
    return frozenset(int(each) for each in text.split(",")) if text else frozenset({_weekday(first)})


def _weekday(day: date) -> int:
    """1 is Sunday, 7 is Saturday."""
    return day.isoweekday() % 7 + 1
