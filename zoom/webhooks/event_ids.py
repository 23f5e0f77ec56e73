"""The id of an event: what it is about and when it happened, never how its bytes looked or how often it came.

Two deliveries of one event share it although their bytes, key order, tokens or `event_ts` differ by a little. It
names an event; it is no reason to drop one, for a second copy may carry a field that the first lacked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import orjson

from schemas.ids import EventId, derive
from zoom.times import epoch_ms
from zoom.webhooks.body import APP_DEAUTHORIZED, meeting_number

Body = Mapping[str, Any]
Subject = Mapping[str, Any]
"""The `payload.object` of a body; empty where there is none."""
Recipe = Callable[[Body, Subject], tuple[str, ...]]

IDENTITY_FIELDS = ("user_id", "participant_uuid", "registrant_id", "id", "customer_key", "user_name")
"""What names a participant, the best first: without a `user_id` the next one that is not blank stands in."""


def event_id(*, account_id: str, name: str, body: Body) -> EventId:
    """The id of the event in a body that is free of secrets."""
    recipe = _RECIPES.get(name, _unknown)
    return EventId(derive("zoom", account_id, name, *recipe(body, _part(body["payload"], "object"))))


def identity(participant: Mapping[str, Any]) -> tuple[str, str]:
    """The field that names a participant and its value; two blanks when nothing does."""
    for field in IDENTITY_FIELDS:
        value = participant.get(field)
        if not isinstance(value, str):
            value = text(value)
        if value:
            return field, value
    return "", ""


def text(value: object) -> str:
    """A JSON scalar as text; blank for null, objects and lists."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def canonical_hash(value: Any) -> str:
    """SHA-256 over the JSON with its keys sorted."""
    return sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def without_id(subject: Mapping[str, Any]) -> dict[str, Any]:
    """The object but for its number, which comes as a number here and as a text there."""
    return {name: value for name, value in subject.items() if name != "id"}


def _part(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = of.get(name)
    return found if isinstance(found, dict) else {}


def _number(body: Body, subject: Subject) -> str:
    return meeting_number(str(body["event"]), subject) or text(subject.get("id"))


def _uuid(subject: Subject) -> str:
    uuid = subject.get("uuid")
    return uuid if uuid and isinstance(uuid, str) else text(uuid) or text(subject.get("meeting_uuid"))


def _event_ts(body: Body) -> str:
    return _time(body.get("event_ts"))


def _time(value: object) -> str:
    """The same text for every way to write one moment; what is no time stays as it is."""
    ms = epoch_ms(value)
    return text(value) if ms is None else str(ms)


def _own(body: Body, *candidates: object) -> str:
    """The event's own time; where it is blank, `event_ts`."""
    for candidate in candidates:
        if candidate is not None and (time := _time(candidate)):
            return time
    return _event_ts(body)


def _participant(*extra: Callable[[Subject], str]) -> Recipe:
    def recipe(body: Body, subject: Subject) -> tuple[str, ...]:
        who = _part(subject, "participant")
        own = _own(body, who.get("join_time"), who.get("leave_time"), who.get("date_time"))
        return (_uuid(subject), *identity(who), own, *[part(subject) for part in extra])

    return recipe


def _of_participant(field: str) -> Callable[[Subject], str]:
    return lambda subject: text(_part(subject, "participant").get(field))


def _breakout_room(subject: Subject) -> str:
    return text(subject.get("breakout_room_uuid"))


def _sharing(body: Body, subject: Subject) -> tuple[str, ...]:
    who = _part(subject, "participant")
    details = _part(who, "sharing_details")
    return _uuid(subject), *identity(who), _own(body, details.get("date_time")), text(details.get("content"))


def _before_host(body: Body, subject: Subject) -> tuple[str, ...]:
    return _uuid(subject), *identity(_part(subject, "participant")), _event_ts(body)


def _run(time_field: str) -> Recipe:
    return lambda body, subject: (_uuid(subject), _own(body, subject.get(time_field)))


def _created(body: Body, subject: Subject) -> tuple[str, ...]:
    return _number(body, subject), _uuid(subject)


def _updated(body: Body, subject: Subject) -> tuple[str, ...]:
    payload = body["payload"]
    own = _own(body, payload.get("time_stamp"))
    return _number(body, subject), own, text(payload.get("scope")), canonical_hash(without_id(subject))


def _existence(body: Body, subject: Subject) -> tuple[str, ...]:
    listed = subject.get("occurrences")
    ids = (
        sorted(text(each.get("occurrence_id")) for each in listed if isinstance(each, dict))
        if isinstance(listed, list)
        else []
    )
    return _number(body, subject), _event_ts(body), *ids


def _registration(body: Body, subject: Subject) -> tuple[str, ...]:
    return _number(body, subject), text(_part(subject, "registrant").get("id")), _event_ts(body)


def _recording(body: Body, subject: Subject) -> tuple[str, ...]:
    file = _part(subject, "recording_file")
    return _uuid(subject), _time(file.get("recording_start")), _time(file.get("recording_end")), _event_ts(body)


def _recording_completed(_body: Body, subject: Subject) -> tuple[str, ...]:
    files = subject.get("recording_files")
    listed = [each for each in files if isinstance(each, dict)] if isinstance(files, list) else []
    pairs = sorted((text(each.get("id")), text(each.get("status"))) for each in listed)
    return _uuid(subject), *(part for pair in pairs for part in pair)


def _alert(body: Body, subject: Subject) -> tuple[str, ...]:
    issues = subject.get("issues")
    listed = sorted(map(text, issues)) if isinstance(issues, list) else [text(issues)]
    return _uuid(subject), _event_ts(body), *listed


def _converted(body: Body, subject: Subject) -> tuple[str, ...]:
    return _number(body, subject), _event_ts(body)


def _deauthorized(body: Body, _subject: Subject) -> tuple[str, ...]:
    payload = body["payload"]
    return text(payload.get("user_id")), text(payload.get("client_id")), _time(payload.get("deauthorization_time"))


def _unknown(body: Body, subject: Subject) -> tuple[str, ...]:
    return _number(body, subject), _uuid(subject), _event_ts(body), canonical_hash(without_id(subject))


_RECIPES: Mapping[str, Recipe] = {
    **{
        f"meeting.participant_{what}": _participant()
        for what in ("joined", "left", "joined_waiting_room", "left_waiting_room", "put_in_waiting_room", "admitted")
    },
    "meeting.participant_joined_breakout_room": _participant(_breakout_room),
    "meeting.participant_left_breakout_room": _participant(_breakout_room),
    "meeting.participant_role_changed": _participant(_of_participant("old_role"), _of_participant("new_role")),
    "meeting.participant_bind": _participant(_of_participant("bind_user_id")),
    "meeting.participant_jbh_joined": _before_host,
    "meeting.participant_jbh_waiting": _before_host,
    "meeting.participant_jbh_waiting_left": _before_host,
    "meeting.sharing_started": _sharing,
    "meeting.sharing_ended": _sharing,
    "meeting.started": _run("start_time"),
    "meeting.ended": _run("end_time"),
    "meeting.created": _created,
    "meeting.updated": _updated,
    "meeting.deleted": _existence,
    "meeting.recovered": _existence,
    "meeting.permanently_deleted": _existence,
    **{f"meeting.registration_{what}": _registration for what in ("created", "approved", "cancelled", "denied")},
    **{f"recording.{what}": _recording for what in ("started", "paused", "resumed", "stopped")},
    "recording.completed": _recording_completed,
    "meeting.alert": _alert,
    "meeting.converted_to_webinar": _converted,
    APP_DEAUTHORIZED: _deauthorized,
}
