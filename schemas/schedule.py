"""When a meeting is: wall time and IANA zone on one side, the instant in UTC on the other.

A meeting is held at a wall time in a zone; the instant follows from it. The rules, for all that callers write:

- a wall time needs a zone; `…Z` alone is a wall time in the zone `UTC`;
- an unknown zone is refused;
- a wall time that the clocks skip is refused; one that they show twice is the first of the two;
- where an offset is written, the instant counts: the wall time is the one that the zone shows at that instant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_FORM = re.compile(r"(?P<wall>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?)(\.\d+)?(?P<offset>Z|[+-]\d{2}:\d{2})?", re.ASCII)
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*", re.ASCII)
_YEARS = range(1971, 2200)
"""Room on both sides for the arithmetic of series and zones."""


class ScheduleError(ValueError):
    """A start that cannot be; `field` is the name of the field at fault."""

    def __init__(self, field: str, message: str) -> None:
        """`message` is a sentence for the caller."""
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start, said both ways."""

    local: str
    """Wall time in the zone, `YYYY-MM-DDTHH:MM:SS`."""
    timezone: str
    at: datetime
    """The instant, UTC."""


def resolve_start(start_time: str, timezone: str | None) -> Start:
    """The start that a caller means.

    Raises:
        ScheduleError: no such form, date, zone or wall time, or no zone at all.
    """
    found = _FORM.fullmatch(start_time)
    if found is None:
        raise ScheduleError("start_time", "is not of the form YYYY-MM-DDTHH:MM:SS, with or without an offset")
    wall = _wall(found["wall"])
    offset = found["offset"]
    if timezone is None and offset != "Z":
        raise ScheduleError("timezone", "is missing: a wall time needs the IANA name of its zone")
    name = "UTC" if timezone is None else timezone
    zone = zone_named(name)
    at = _instant(wall, zone) if offset is None else _shifted(wall, offset)
    return Start(local=_text(at.astimezone(zone)), timezone=name, at=at)


@lru_cache(maxsize=1024)
def zone_named(name: str) -> ZoneInfo:
    """The zone with this IANA name.

    Raises:
        ScheduleError: there is none.
    """
    if _ZONE.fullmatch(name) is None:
        raise ScheduleError("timezone", "is not the IANA name of a zone, such as Europe/Madrid")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ScheduleError("timezone", "is not the IANA name of a zone, such as Europe/Madrid") from error


def is_ambiguous(start: Start) -> bool:
    """Whether the clocks of the zone show this wall time twice."""
    local = datetime.fromisoformat(start.local).replace(tzinfo=zone_named(start.timezone))
    return local.utcoffset() != local.replace(fold=1).utcoffset()


def instant_of(wall: datetime, zone: ZoneInfo) -> datetime:
    """The instant of a naive wall time, for dates that a rule makes: a time that the clocks skip moves past the gap."""
    return wall.replace(tzinfo=zone).astimezone(UTC)


def _wall(text: str) -> datetime:
    try:
        wall = datetime.fromisoformat(text)
    except ValueError as error:
        raise ScheduleError("start_time", "is no date and time of the calendar") from error
    if wall.year not in _YEARS:
        raise ScheduleError("start_time", f"is not between the years {_YEARS[0]} and {_YEARS[-1]}")
    return wall


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    at = instant_of(wall, zone)
    if at.astimezone(zone).replace(tzinfo=None) != wall:
        raise ScheduleError("start_time", f"does not exist: the clocks of {zone.key} skip it that day")
    return at


def _shifted(wall: datetime, offset: str) -> datetime:
    if offset == "Z":
        return wall.replace(tzinfo=UTC)
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 14 or minutes > 59:  # no zone is further from UTC
        raise ScheduleError("start_time", "has an offset that no zone has")
    shift = timedelta(hours=hours, minutes=minutes)
    return (wall - shift if offset[0] == "+" else wall + shift).replace(tzinfo=UTC)


def _text(local: datetime) -> str:
    return local.replace(tzinfo=None).isoformat(timespec="seconds")
