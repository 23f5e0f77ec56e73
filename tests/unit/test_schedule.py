"""Wall time, zones and instants (ZC31)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from schemas.recurrence import occurrences
from schemas.requests import MeetingRequest, RecurrenceRequest
from schemas.schedule import ScheduleError, Start, is_ambiguous, resolve_start


def at(text: str) -> datetime:
    """The moment."""
    return datetime.fromisoformat(text)


def test_wall_time_in_its_zone() -> None:
    """A wall time and a zone give the instant."""
    assert resolve_start("2026-07-01T09:00", "Europe/Madrid") == Start(
        local="2026-07-01T09:00:00", timezone="Europe/Madrid", at=at("2026-07-01T07:00:00Z")
    )


def test_time_that_the_clocks_skip_is_refused() -> None:
    """ZC31 a: an hour that does not exist is nobody's start."""
    with pytest.raises(ScheduleError, match="skip it that day") as refused:
        resolve_start("2026-03-29T02:30:00", "Europe/Madrid")
    assert refused.value.field == "start_time"


def test_time_that_the_clocks_show_twice_is_the_first() -> None:
    """ZC31 b: of two equal wall times the first is meant, and it is known to be one of two."""
    start = resolve_start("2026-10-25T02:30:00", "Europe/Madrid")
    assert (start.at, is_ambiguous(start)) == (at("2026-10-25T00:30:00Z"), True)


def test_offset_that_agrees() -> None:
    """ZC31 c: an offset beside its own zone is the same as the wall time."""
    start = resolve_start("2026-07-01T09:00:00+02:00", "Europe/Madrid")
    assert (start.at, start.local) == (at("2026-07-01T07:00:00Z"), "2026-07-01T09:00:00")


def test_offset_that_disagrees_wins() -> None:
    """ZC31 d: where offset and zone disagree, the instant counts and the zone shows it."""
    start = resolve_start("2026-07-01T09:00:00+02:00", "America/New_York")
    assert (start.at, start.local) == (at("2026-07-01T07:00:00Z"), "2026-07-01T03:00:00")


@pytest.mark.parametrize(
    ("start_time", "timezone", "field"),
    [
        ("2026-03-20T09:00:00", None, "timezone"),
        ("2026-03-20T09:00:00+01:00", None, "timezone"),
        ("2026-03-20T09:00:00", "Mars/Base", "timezone"),
        ("2026-03-20T09:00:00", "../etc/passwd", "timezone"),
        ("2026-03-20T09:00:00", "Europe", "timezone"),
        ("2026-03-20T09:00:00", "", "timezone"),
        ("2026-02-30T09:00:00", "Europe/Madrid", "start_time"),
        ("2026-03-20T25:00:00", "Europe/Madrid", "start_time"),
        ("0001-03-20T09:00:00", "Europe/Madrid", "start_time"),
        ("2026-03-20T09:00:00+25:00", "Europe/Madrid", "start_time"),
        ("tomorrow", "Europe/Madrid", "start_time"),
        ("٢٠٢٦-03-20T09:00:00", "Europe/Madrid", "start_time"),
    ],
)
def test_what_is_no_start_names_its_field(start_time: str, timezone: str | None, field: str) -> None:
    """ZC31 e, f: a missing or unknown zone, or a time of no calendar, is refused by name."""
    with pytest.raises(ScheduleError) as refused:
        resolve_start(start_time, timezone)
    assert refused.value.field == field


def test_time_in_utc_needs_no_zone() -> None:
    """A time that says Z is a wall time in UTC."""
    assert resolve_start("2026-03-20T09:00:00.5Z", None) == Start(
        local="2026-03-20T09:00:00", timezone="UTC", at=datetime(2026, 3, 20, 9, tzinfo=UTC)
    )


def series(start_time: str, timezone: str, **rule: object) -> tuple[str, ...]:
    """The instants of a series, to the minute."""
    request = MeetingRequest(
        host="host@example.com",
        topic="Planning",
        start_time=start_time,
        timezone=timezone,
        recurrence=RecurrenceRequest.model_validate(rule),
    )
    return tuple(each.strftime("%Y-%m-%dT%H:%MZ") for each in occurrences(request.details()))


def test_weekly_series_keeps_its_wall_time_over_a_change_of_clocks() -> None:
    """ZC31 h: 17:00 in Denver stays 17:00 in Denver."""
    assert series("2026-10-26T17:00:00", "America/Denver", type=2, end_times=3) == (
        "2026-10-26T23:00Z",
        "2026-11-03T00:00Z",
        "2026-11-10T00:00Z",
    )


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"type": 1, "repeat_interval": 2, "end_times": 3}, ("04-01", "04-03", "04-05")),
        ({"type": 2, "weekly_days": "2,4", "end_times": 4}, ("04-01", "04-06", "04-08", "04-13")),
        ({"type": 2, "repeat_interval": 2, "weekly_days": "4,2", "end_times": 3}, ("04-01", "04-13", "04-15")),
        ({"type": 3, "monthly_day": 31, "end_times": 3}, ("05-31", "07-31", "08-31")),
        ({"type": 3, "monthly_week": -1, "monthly_week_day": 6, "end_times": 2}, ("04-24", "05-29")),
        ({"type": 3, "monthly_week": 2, "monthly_week_day": 4, "end_times": 2}, ("04-08", "05-13")),
        ({"type": 1, "end_at": "2026-04-03T09:00:00Z"}, ("04-01", "04-02", "04-03")),
    ],
)
def test_rules_of_series(rule: dict[str, object], expected: tuple[str, ...]) -> None:
    """Intervals, weekdays, days of the month, weeks of the month and both ends of a series."""
    assert tuple(each[5:10] for each in series("2026-04-01T09:00:00", "UTC", **rule)) == expected
