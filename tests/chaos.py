"""Histories without sense: everything that Zoom could send about one room, in small ranges, so that much collides.

Times lie on few seconds, runs and people are few, fields are missing, blank or contradict each other, copies of one event
differ, polls mix with webhooks. Whatever holds here does not lean on events being reasonable.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from schemas.records.zoom_events import ZoomEvent
from tests.rooms import U1, U2, body, heard, iso, observed, person, updated

HORIZON = 90
"""Seconds from the first to the last time."""

seconds = st.integers(0, HORIZON)
uuids = st.sampled_from([U1, U2])
user_ids = st.sampled_from(["100", "200", "300", ""])
topics = st.sampled_from(["", "A", "B", "Ünï"])
statuses = st.sampled_from(["pending", "approved", "", "odd"])
date_ids = st.sampled_from(["o1", "o2", "o3"])
MOVES = (
    "joined",
    "left",
    "joined_waiting_room",
    "left_waiting_room",
    "put_in_waiting_room",
    "admitted",
    "joined_breakout_room",
    "left_breakout_room",
)


@st.composite
def identities(draw: st.DrawFn) -> dict[str, Any]:
    """Some of what names a participant; blanks and masks among it."""
    pools = {
        "registrant_id": ["", "r1", "r2"],
        "id": ["", "", "z1", "z2"],
        "customer_key": ["", "", "k1"],
        "email": ["", "a@example.com", "B@example.com ", "m***@example.com"],
        "user_name": ["", "One", "Two"],
        "participant_uuid": ["", "p1"],
    }
    return {field: draw(st.sampled_from(pool)) for field, pool in pools.items() if draw(st.booleans())}


@st.composite
def moves(draw: st.DrawFn) -> ZoomEvent:
    """Somebody comes, goes, waits or changes rooms."""
    name, at = draw(st.sampled_from(MOVES)), draw(seconds)
    where: dict[str, Any] = {"room": draw(st.sampled_from(["R1", "R2"]))} if "breakout" in name else {}
    who = draw(identities())
    if "breakout" in name and draw(st.booleans()):
        who["parent_user_id"] = draw(st.sampled_from(["100", "200", "900"]))
    time = None if draw(st.integers(0, 9)) else ""
    return heard(
        person(name, at, draw(user_ids), time=time, uuid=draw(uuids), start=draw(st.integers(0, 5)), **where, **who)
    )


@st.composite
def changes(draw: st.DrawFn) -> ZoomEvent:
    """Roles, bindings, sharing and waiting for the host."""
    at, uuid = draw(seconds), draw(uuids)
    kind = draw(st.sampled_from(["role_changed", "bind", "jbh_waiting", "jbh_waiting_left", "jbh_joined", "sharing"]))
    if kind == "sharing":
        details = {"content": draw(st.sampled_from(["desktop", "camera"])), "date_time": iso(at)}
        participant = {"user_id": draw(user_ids), "user_name": "One", "sharing_details": details}
        name = draw(st.sampled_from(["meeting.sharing_started", "meeting.sharing_ended"]))
        return heard(body(name, at, uuid=uuid, participant=participant))
    more: dict[str, dict[str, Any]] = {
        "role_changed": {"old_role": "attendee", "new_role": "host"},
        "bind": {"bind_user_id": draw(user_ids)},
    }
    return heard(person(kind, at, draw(user_ids), uuid=uuid, **more.get(kind, {}), **draw(identities())))


@st.composite
def lifecycle(draw: st.DrawFn) -> ZoomEvent:
    """The room and its runs come and go."""
    at, uuid = draw(seconds), draw(uuids)
    what = draw(
        st.sampled_from(
            [
                "created",
                "deleted",
                "recovered",
                "permanently_deleted",
                "started",
                "ended",
                "alert",
                "converted_to_webinar",
            ]
        )
    )
    subject: dict[str, Any] = {"uuid": uuid, "topic": draw(topics), "type": draw(st.sampled_from([2, 3, 8]))}
    if what in {"created", "deleted", "recovered"} and draw(st.booleans()):
        subject["occurrences"] = draw(dates())
    if what == "created":
        subject["settings"] = draw(settings())
    if what == "ended":
        subject["end_time"] = draw(st.sampled_from(["", iso(at), iso(max(0, at - 3))]))
    if what in {"started", "ended"}:
        subject["start_time"] = draw(st.sampled_from(["", iso(0), iso(at // 2)]))
    if what == "alert":
        subject["issues"] = draw(st.lists(st.sampled_from(["High CPU occupation", "Call Reconnection"]), max_size=3))
    operation = draw(st.sampled_from([{}, {"operation": "all"}, {"operation": "single"}]))
    timed = None if what == "deleted" and draw(st.integers(0, 9)) == 0 else at
    return heard(body(f"meeting.{what}", timed, operation, **subject))


@st.composite
def updates(draw: st.DrawFn) -> ZoomEvent:
    """Something about the room is changed."""
    changed: dict[str, Any] = {}
    if draw(st.booleans()):
        changed["topic"] = draw(topics)
    if draw(st.booleans()):
        changed["settings"] = draw(settings())
    if draw(st.booleans()):
        changed["occurrences"] = draw(dates())
    if draw(st.booleans()):
        changed["type"] = draw(st.sampled_from([2, 8]))
    old = {"occurrences": draw(dates())} if draw(st.booleans()) else {}
    return heard(updated(draw(seconds), draw(st.sampled_from(["single", "range", "all"])), old, **changed))


@st.composite
def registrations(draw: st.DrawFn) -> ZoomEvent:
    """Somebody registers, or is decided on."""
    who = {"id": draw(st.sampled_from(["r1", "r2", ""])), "email": "a@example.com", "status": draw(statuses)}
    name = draw(st.sampled_from(["created", "approved", "denied", "cancelled"]))
    return heard(body(f"meeting.registration_{name}", draw(seconds), registrant=who))


@st.composite
def recordings(draw: st.DrawFn) -> ZoomEvent:
    """A recording goes on, goes off, or is there."""
    at, uuid = draw(seconds), draw(uuids)
    name = draw(st.sampled_from(["started", "paused", "resumed", "stopped", "completed"]))
    if name != "completed":
        file = {"recording_start": iso(at), "recording_end": draw(st.sampled_from(["", iso(at)]))}
        return heard(body(f"recording.{name}", at, uuid=uuid, recording_file=file))
    ids = draw(st.lists(st.sampled_from(["f1", "f2"]), max_size=3))
    files = [{"id": each, "status": draw(st.sampled_from(["completed", "processing"])), "file_size": 3} for each in ids]
    return heard(body("recording.completed", at, uuid=uuid, recording_files=files))


@st.composite
def oddities(draw: st.DrawFn) -> ZoomEvent:
    """Events nobody knows, and known ones that name nothing to hold them."""
    name = draw(st.sampled_from(["meeting.hologram_started", "meeting.started", "meeting.registration_created"]))
    subject: dict[str, Any] = {"uuid": None, "colour": draw(topics)}
    if draw(st.booleans()):
        subject["id"] = None
    return heard(body(name, draw(st.one_of(st.none(), seconds)), **subject))


@st.composite
def observations(draw: st.DrawFn) -> ZoomEvent:
    """What a poll saw."""
    at, uuid = draw(seconds) + 10, draw(uuids)
    kind = draw(
        st.sampled_from(
            ["meeting", "listed_meeting", "past_meeting", "past_instance", "past_participant", "registrant"]
        )
    )
    answer: dict[str, Any] = {"topic": draw(topics), "type": draw(st.sampled_from([2, 8])), "start_time": iso(0)}
    if kind == "meeting":
        answer["status"] = draw(st.sampled_from(["waiting", "started"]))
        if draw(st.booleans()):
            answer["occurrences"] = draw(dates())
    if kind == "past_meeting" and draw(st.booleans()):
        answer["end_time"] = iso(at - 10)
    if kind == "past_participant":
        answer = draw(rows())
    if kind == "registrant":
        answer = {"id": draw(st.sampled_from(["r1", "r2", ""])), "status": draw(statuses), "email": "a@example.com"}
    status = draw(st.sampled_from([200, 200, 200, 404, 500])) if kind in {"meeting", "past_meeting"} else 200
    return observed(kind, at, answer, uuid=uuid, status=status, every_occurrence=draw(st.booleans()))


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """One row of a report."""
    joined = draw(st.integers(0, HORIZON // 2))
    left = draw(st.sampled_from(["", iso(joined), iso(joined + 7), iso(joined + 30)]))
    named = {"name": "One", "user_id": draw(user_ids), **draw(identities())}
    named["user_email"] = named.pop("email", "")
    return {**named, "join_time": iso(joined), "leave_time": left}


def settings() -> st.SearchStrategy[dict[str, Any]]:
    """Some settings, now and then a leaf where another time there is a branch."""
    leaf = st.one_of(st.booleans(), st.sampled_from(["both", "voip", ""]), st.integers(0, 2))
    nested = st.dictionaries(st.sampled_from(["enable", "rooms"]), leaf, max_size=2)
    return st.dictionaries(
        st.sampled_from(["audio", "waiting_room", "breakout_room"]), st.one_of(leaf, nested), max_size=3
    )


def dates() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Some occurrences of a series, one perhaps twice."""
    date = st.fixed_dictionaries(
        {"occurrence_id": date_ids, "start_time": seconds.map(iso)},
        optional={"status": st.sampled_from(["available", "deleted"]), "duration": st.integers(1, 2)},
    )
    return st.lists(date, max_size=4)


def copies(event: ZoomEvent) -> st.SearchStrategy[ZoomEvent]:
    """The event again, perhaps with one of its values changed on the way: another copy of the same event."""
    values = [("Planning call", "Planning c4ll"), ('"One"', '"0ne"'), ("both", "b0th")]
    changed = [_with_body(event, event.body.replace(old, new)) for old, new in values if old in event.body]
    return st.sampled_from([event, *changed])


def _with_body(event: ZoomEvent, text: str) -> ZoomEvent:
    fields = {name: getattr(event, name) for name in ZoomEvent.__dataclass_fields__}
    return ZoomEvent(**{**fields, "body": text})


anything = st.one_of(
    moves(), moves(), changes(), lifecycle(), updates(), registrations(), recordings(), oddities(), observations()
)


@st.composite
def histories(draw: st.DrawFn, *, most: int = 12) -> list[ZoomEvent]:
    """Any events, some of them in several copies."""
    events = draw(st.lists(anything, min_size=1, max_size=most))
    again = draw(st.lists(st.sampled_from(events), max_size=4))
    return [*events, *(draw(copies(event)) for event in again)]


@st.composite
def attended(draw: st.DrawFn, *, most: int = 14) -> list[ZoomEvent]:
    """Events and rows that say who was in two runs."""
    run = st.one_of(
        *[moves()] * 6,
        changes(),
        st.builds(_ended, uuids, seconds),
        st.builds(lambda uuid, row: observed("report_participant", HORIZON + 9, row, uuid=uuid), uuids, rows()),
    )
    return draw(st.lists(run, min_size=1, max_size=most))


def _ended(uuid: str, at: int) -> ZoomEvent:
    return heard(body("meeting.ended", at, uuid=uuid, start_time=iso(0), end_time=iso(at)))
