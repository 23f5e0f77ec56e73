"""A room on the wire: what Roomkeeper sends of a meeting, what Zoom shows of it, and the key that a room carries.

The key of the create that made a room stands in the first line of its agenda, where lists show it, and in a tracking
field where the account has one. Every setting is sent whole, the personal meeting room always refused. What Zoom shows
is brought to one form, `Shown`, so that it can be compared with what was sent, whoever shows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import orjson

from schemas.ids import ProviderKey, ZoomId
from schemas.records.meeting_commands import MeetingDetails, Recurrence, RoomSettings
from schemas.recurrence import occurrences
from schemas.schedule import Start, is_ambiguous

SCHEDULED, PERSONAL, SERIES = 2, 4, 8
_KEY_LINE = re.compile(r"\[roomkeeper ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:create:[0-9]{1,18})\]")

Json = Mapping[str, Any]


def room_body(details: MeetingDetails, *, key: ProviderKey, tracking_field: str | None) -> dict[str, Any]:
    """The body of a create or an update: the whole meeting, with the room's key."""
    start_time, timezone = _start(details)
    body: dict[str, Any] = {
        "topic": details.topic,
        "type": SERIES if details.recurrence else SCHEDULED,
        "start_time": start_time,
        "timezone": timezone,
        "duration": details.duration_minutes,
        "agenda": agenda_with(key, details.agenda),
        "settings": _sent_settings(details.settings),
    }
    if details.recurrence:
        body["recurrence"] = _recurrence(details.recurrence)
    if tracking_field:
        body["tracking_fields"] = [{"field": tracking_field, "value": key}]
    return body


def agenda_with(key: ProviderKey, agenda: str) -> str:
    """The agenda under the line that holds the room's key."""
    return f"[roomkeeper {key}]\n{agenda}" if agenda else f"[roomkeeper {key}]"


def key_of(room: Json, *, tracking_field: str | None = None) -> ProviderKey | None:
    """The key that a room carries, from a list, a read, or an event about it; None when it carries none."""
    agenda = room.get("agenda")
    first = agenda.split("\n", 1)[0].strip() if isinstance(agenda, str) else ""
    found = _KEY_LINE.fullmatch(first)
    if found is not None:
        return ProviderKey(found[1])
    fields = room.get("tracking_fields")
    for each in fields if isinstance(fields, list) and tracking_field else ():
        if isinstance(each, dict) and each.get("field") == tracking_field:
            found = _KEY_LINE.fullmatch(f"[roomkeeper {each.get('value')}]")
            return ProviderKey(found[1]) if found else None
    return None


def number_of(room: Json) -> ZoomId:
    """The room's number, as text; empty when there is none that could be."""
    number = room.get("id")
    if isinstance(number, bool) or not isinstance(number, int | str):
        return ZoomId("")
    text = str(number).strip()
    return ZoomId(text if text.isascii() and text.isdigit() and len(text) <= 20 else "")


def shown_by(room: Json) -> dict[str, Any]:
    """What Zoom shows of the details that Roomkeeper sets; what it does not show is absent."""
    shown: dict[str, Any] = {name: room[name] for name in ("topic", "timezone", "duration") if name in room}
    starts = _shown_starts(room)
    if starts:
        shown["start_at"] = starts[0]
    if isinstance(room.get("agenda"), str):
        shown["agenda"] = _plain(room["agenda"])
    settings = room.get("settings")
    if isinstance(settings, dict):
        shown["settings"] = {name: _setting(name, value) for name, value in settings.items() if name in _SETTINGS}
    if room.get("type") == PERSONAL or room.get("pmi"):
        shown.setdefault("settings", {})["use_pmi"] = True
    return shown


def text_of(shown: Json) -> str:
    """What a room shows as one canonical text."""
    return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS).decode()


def differences(sent: Json, shown: Json, *, details: MeetingDetails, now: datetime) -> tuple[str, ...]:
    """Names of the details that a room shows otherwise than they were sent.

    What it does not show at all is no difference. A start in the past is not compared: Zoom moves it as it likes.
    """
    names = [name for name in ("topic", "duration") if name in shown and shown[name] != sent[name]]
    if "agenda" in shown and shown["agenda"] != _plain(sent["agenda"]):
        names.append("agenda")
    dates = occurrences(details)
    if "start_at" in shown and dates and min(dates) > now and shown["start_at"] != _instant(dates[0]):
        names.append("start_time")
    for name, value in sorted(sent["settings"].items()):
        there = shown.get("settings", {})
        if name in there and there[name] != _setting(name, value):
            names.append(f"settings.{name}")
    return tuple(names)


_SETTINGS = frozenset(
    {
        "waiting_room",
        "join_before_host",
        "mute_upon_entry",
        "host_video",
        "participant_video",
        "approval_type",
        "auto_recording",
        "alternative_hosts",
        "use_pmi",
    }
)


_SENT_SETTINGS = tuple(each.name for each in fields(RoomSettings))
_values_of = attrgetter(*_SENT_SETTINGS)
_SECONDS = len("2026-03-20T09:00:00")


def _sent_settings(settings: RoomSettings) -> dict[str, Any]:
    return {**dict(zip(_SENT_SETTINGS, _values_of(settings), strict=True)), "use_pmi": False}


def _start(details: MeetingDetails) -> tuple[str, str]:
    """Wall time and zone, or `…Z` and UTC; never Z beside another zone, which Zoom has read in either way."""
    start = Start(local=details.start_local, timezone=details.timezone, at=details.start_at)
    if details.timezone == "UTC" or (details.recurrence is None and is_ambiguous(start)):
        return _instant(details.start_at), "UTC"
    return details.start_local, details.timezone


def _recurrence(rule: Recurrence) -> dict[str, Any]:
    body = {name: value for name, value in asdict(rule).items() if value is not None and name != "end_at"}
    if rule.end_at is not None:
        body["end_date_time"] = _instant(rule.end_at)
    return body


def _shown_starts(room: Json) -> list[str]:
    dates = room.get("occurrences")
    starts = [each.get("start_time") for each in dates if isinstance(each, dict)] if isinstance(dates, list) else []
    starts = starts or [room.get("start_time")]
    return sorted(text for start in starts if isinstance(start, str) and (text := _shown_instant(start)))


def _shown_instant(text: str) -> str:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return _instant(at) if at.tzinfo is not None else ""


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()[:_SECONDS] + "Z"


def _setting(name: str, value: Any) -> Any:
    """Lists of hosts are compared as sets, however they are separated."""
    if name != "alternative_hosts" or not value or not isinstance(value, str):
        return value
    return ";".join(sorted(each.strip().lower() for each in re.split(r"[;,]", value) if each.strip()))


def _plain(text: str) -> str:
    """The text without blanks at the ends of its lines, which Zoom drops."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()
