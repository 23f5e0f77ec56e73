"""Events about a meeting itself: created, updated, deleted, recovered, started, ended.

`start_time` is the scheduled one in created, updated and deleted, the actual one in started and ended; ids are numbers
in the first, text in the second (numbers too, in an older shape).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from simulator.model import Occurrence, Room, Run
from simulator.payloads.envelope import Event, Shapes, operated, plain
from simulator.wire import Json, millis, second_text

PERSONAL_TYPE = 4


def created(room: Room, shapes: Shapes, *, at: datetime) -> Event:
    """`meeting.created`: neither agenda nor host e-mail; live ones have no `operation`."""
    details, settings = room.details, room.details.settings
    subject = scheduled_object(room) | {
        "join_url": room.secrets["join_url"],
        "password": details.password,
        "creation_source": room.creation_source,
        "settings": {
            "use_pmi": bool(settings.get("use_pmi", False)),
            "alternative_hosts": settings.get("alternative_hosts", ""),
            "join_before_host": bool(settings.get("join_before_host", False)),
            "jbh_time": settings.get("jbh_time", 0),
        },
    }
    if room.occurrences:
        subject["occurrences"] = occurrence_list(room.occurrences)
        subject["recurrence"] = dict(details.recurrence or {})
    if details.tracking_fields:
        subject["tracking_fields"] = tracking_field_list(room)
    extra: Json = {} if shapes.live() else {"operation": "all"}
    return operated("meeting.created", room.account, subject, at=at, extra=extra)


def updated(room: Room, *, new: Json, old: Json, at: datetime, scope: str | None) -> Event:
    """`meeting.updated`: the number and what changed, beside what it was; the scope is optional."""
    extra: Json = {} if scope is None else {"scope": scope}
    event = operated("meeting.updated", room.account, {"id": room.number, **new}, at=at, extra=extra)
    event.body["payload"] |= {"old_object": {"id": room.number, **old}, "time_stamp": millis(at)}
    return event


def ending(name: str, room: Room, shapes: Shapes, *, at: datetime, gone: Iterable[Occurrence] = ()) -> Event:
    """`meeting.deleted`, `permanently_deleted` or `recovered`; `gone` names single dates of a series."""
    subject, dates = scheduled_object(room), list(gone)
    if dates:
        subject.pop("start_time", None)
        subject["occurrences"] = [_bare(each) for each in dates]
        return operated(name, room.account, subject, at=at, extra={"operation": "single"})
    extra: Json = {} if shapes.live() else {"operation": "all"}
    return operated(name, room.account, subject, at=at, extra=extra)


def started(room: Room, run: Run, shapes: Shapes, *, at: datetime) -> Event:
    """`meeting.started`; older ones carry the number as a number."""
    subject = run_object(room, run) | {"host_email": room.host.email}
    if shapes.live():
        subject["id"] = int(subject["id"])
    return plain("meeting.started", room.account, subject, at=at)


def ended(room: Room, run: Run, *, at: datetime) -> Event:
    """`meeting.ended`."""
    subject = run_object(room, run) | {"end_time": second_text(run.ended_at or at), "host_email": room.host.email}
    return plain("meeting.ended", room.account, subject, at=at)


def scheduled_object(room: Room) -> Json:
    """The meeting as planned."""
    details = room.details
    subject: Json = {"uuid": room.uuid, "id": room.number, "host_id": room.host.host_id, "topic": details.topic}
    subject["type"] = details.type
    if details.start_at is not None:
        subject["start_time"] = second_text(details.start_at)
    return subject | {"duration": details.duration_minutes, "timezone": details.timezone}


def run_object(room: Room, run: Run) -> Json:
    """The meeting as it runs; in a personal room, under the host's own number."""
    personal = room.personal
    return {
        "duration": room.details.duration_minutes,
        "start_time": second_text(run.started_at),
        "timezone": room.details.timezone,
        "topic": f"{room.host.name}'s Personal Meeting Room" if personal else room.details.topic,
        "id": str(room.host.pmi if personal else room.number),
        "type": PERSONAL_TYPE if personal else room.details.type,
        "uuid": run.uuid,
        "host_id": room.host.host_id,
    }


def occurrence_list(occurrences: Iterable[Occurrence]) -> list[Json]:
    """Dates of a series."""
    return [_bare(each) | {"duration": each.duration_minutes, "status": each.status} for each in occurrences]


def tracking_field_list(room: Room) -> list[Json]:
    """Tracking fields as answers and events carry them."""
    return [{"field": field, "value": value, "visible": False} for field, value in room.details.tracking_fields]


def _bare(occurrence: Occurrence) -> Json:
    return {"occurrence_id": occurrence.occurrence_id, "start_time": second_text(occurrence.start_at)}
