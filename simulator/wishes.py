"""What a create or a change asks for, read as Zoom reads it.

Some values are refused (300), some are silently corrected: a past start becomes now on create and is ignored on change,
an enumeration's unknown value becomes its default, an undefined tracking field is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from simulator import refusals
from simulator.model import RECURRING_UNFIXED, SCHEDULED, Details
from simulator.wire import Json, whole_second

DEFAULT_SETTINGS: Mapping[str, Any] = {
    "host_video": False,
    "participant_video": False,
    "join_before_host": False,
    "jbh_time": 0,
    "mute_upon_entry": False,
    "use_pmi": False,
    "approval_type": 2,
    "audio": "both",
    "auto_recording": "none",
    "waiting_room": False,
    "alternative_hosts": "",
    "meeting_authentication": False,
}
_ENUMERATIONS: Mapping[str, tuple[object, ...]] = {
    "approval_type": (2, 0, 1),
    "registration_type": (1, 2, 3),
    "audio": ("both", "telephony", "voip", "thirdParty"),
    "auto_recording": ("none", "local", "cloud"),
}
_TYPES = (1, 2, 3, 8, 10)
_LIMITS = {"topic": 200, "agenda": 2000, "password": 10}
_MOST_MINUTES = 1440
_START = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z?")


def new_details(body: Json, *, defined_fields: tuple[str, ...], password: str, now: datetime) -> Details:
    """The details of a new room; `password` is what the account would set by itself.

    Raises:
        Refusal: values that do not validate.
    """
    validate(body)
    timezone = body.get("timezone") or "UTC"
    kind = body.get("type", SCHEDULED)
    wished = _start(body.get("start_time"), timezone)
    start_at = wished if wished is not None and wished > now else whole_second(now)
    return Details(
        topic=body.get("topic") or "Zoom Meeting",
        type=kind,
        start_at=None if kind == RECURRING_UNFIXED else start_at,
        duration_minutes=body.get("duration") or 60,
        timezone=timezone,
        agenda=body.get("agenda") or "",
        password=body.get("password") or password,
        settings={**DEFAULT_SETTINGS, **_coerced(body.get("settings") or {})},
        tracking_fields=_tracking_fields(body, defined_fields),
        recurrence=body.get("recurrence"),
    )


def changed_details(details: Details, body: Json, *, defined_fields: tuple[str, ...], now: datetime) -> Details:
    """The details after a change; what the body does not name stays.

    Raises:
        Refusal: values that do not validate.
    """
    validate(body)
    timezone = body.get("timezone") or details.timezone
    changes: dict[str, Any] = {key: body[key] for key in ("topic", "agenda", "password", "type") if key in body}
    changes["timezone"] = timezone
    if body.get("duration"):
        changes["duration_minutes"] = body["duration"]
    wished = _start(body.get("start_time"), timezone)
    if wished is not None and wished > now:
        changes["start_at"] = wished
    if "settings" in body:
        changes["settings"] = {**details.settings, **_coerced(body["settings"] or {})}
    if "recurrence" in body:
        changes["recurrence"] = body["recurrence"]
    if "tracking_fields" in body:
        changes["tracking_fields"] = _tracking_fields(body, defined_fields)
    return replace(details, **changes)


def validate(body: Json) -> None:
    """Refuses what Zoom refuses.

    Raises:
        Refusal: names every wrong field.
    """
    wrong = [field for field, most in _LIMITS.items() if not _is_text(body.get(field), most)]
    if body.get("type", SCHEDULED) not in _TYPES:
        wrong.append("type")
    duration = body.get("duration", 1)
    if not isinstance(duration, int) or not 0 <= duration <= _MOST_MINUTES:
        wrong.append("duration")
    if not _is_zone(body.get("timezone")):
        wrong.append("timezone")
    elif not _is_start(body.get("start_time")):
        wrong.append("start_time")
    settings = body.get("settings") or {}
    if not isinstance(settings, dict):
        wrong.append("settings")
    elif settings.get("jbh_time", 0) not in (0, 5, 10, 15):
        wrong.append("settings.jbh_time")
    if wrong:
        raise refusals.invalid_fields(*wrong)


def _coerced(settings: Json) -> Json:
    return {
        key: _ENUMERATIONS[key][0] if key in _ENUMERATIONS and value not in _ENUMERATIONS[key] else value
        for key, value in settings.items()
    }


def _tracking_fields(body: Json, defined: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    wished = body.get("tracking_fields") or []
    return tuple((each["field"], str(each.get("value", ""))) for each in wished if each.get("field") in defined)


def _start(text: str | None, timezone: str) -> datetime | None:
    if not text:
        return None
    if text.endswith("Z"):
        return datetime.fromisoformat(text[:-1]).replace(tzinfo=UTC)
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(timezone)).astimezone(UTC)


def _is_text(value: object, most: int) -> bool:
    return value is None or (isinstance(value, str) and len(value) <= most)


def _is_zone(value: object) -> bool:
    if value is None or value == "":
        return True
    try:
        return isinstance(value, str) and ZoneInfo(value) is not None
    except (ZoneInfoNotFoundError, ValueError):
        return False


def _is_start(value: object) -> bool:
    if value is None or value == "":
        return True
    if not isinstance(value, str) or not _START.fullmatch(value):
        return False
    try:
        return datetime.fromisoformat(value.rstrip("Z")) is not None
    except ValueError:
        return False
