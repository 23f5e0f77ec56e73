"""Bodies of Zoom's REST answers. Those of a room hold secrets: the start link with its key, passcodes."""

from __future__ import annotations

from datetime import datetime

from simulator.model import Connection, Registrant, Room, Run, Stay
from simulator.payloads.meetings import occurrence_list, tracking_field_list
from simulator.truth import of_run, union_seconds
from simulator.wire import Json, second_text

LISTED_AGENDA = 250


def whole_room(room: Room) -> Json:
    """The answer to a create or a read."""
    details = room.details
    answer: Json = {"uuid": room.uuid, "id": room.number, "host_id": room.host.host_id}
    answer |= {"host_email": room.host.email, "topic": details.topic, "type": details.type}
    answer["status"] = "started" if room.live is not None else "waiting"
    if details.start_at is not None and not room.occurrences:
        answer["start_time"] = second_text(details.start_at)
    answer |= {"duration": details.duration_minutes, "timezone": details.timezone, "agenda": details.agenda}
    answer |= {"created_at": second_text(room.created_at), "start_url": room.secrets["start_url"]}
    answer |= {"join_url": room.secrets["join_url"], "password": details.password}
    answer |= {key: room.secrets[key] for key in ("h323_password", "pstn_password", "encrypted_password")}
    answer["settings"] = dict(details.settings)
    if details.tracking_fields:
        answer["tracking_fields"] = tracking_field_list(room)
    if room.occurrences:
        answer["occurrences"] = occurrence_list(room.occurrences)
        answer["recurrence"] = dict(details.recurrence or {})
    if room.personal:
        answer["pmi"] = room.host.pmi
    if details.settings.get("approval_type") in (0, 1):
        answer["registration_url"] = f"https://zoom.example.com/meeting/register/{room.number}"
    return answer | {"creation_source": room.creation_source, "pre_schedule": False}


def listed_room(room: Room) -> Json:
    """An item of a list: the agenda cut, neither status nor settings nor tracking fields."""
    whole = whole_room(room)
    keys = ("uuid", "id", "host_id", "topic", "type", "start_time", "duration", "timezone")
    item = {key: whole[key] for key in keys if key in whole}
    if room.occurrences:
        item["start_time"] = second_text(room.occurrences[0].start_at)
    item["agenda"] = room.details.agenda[:LISTED_AGENDA]
    item |= {"created_at": whole["created_at"], "join_url": whole["join_url"]}
    if room.personal:
        item["pmi"] = str(room.host.pmi)
    return item


def past_meeting(room: Room, run: Run, *, now: datetime) -> Json:
    """A run that is over."""
    ended_at = run.ended_at or now
    people = of_run(run, as_of=ended_at).people
    return {
        "uuid": run.uuid,
        "id": room.number,
        "host_id": room.host.host_id,
        "type": room.details.type,
        "topic": room.details.topic,
        "user_name": room.host.name,
        "user_email": room.host.email,
        "start_time": second_text(run.started_at),
        "end_time": second_text(ended_at),
        "duration": round((ended_at - run.started_at).total_seconds() / 60),
        "total_minutes": sum(round(person.seconds / 60) for person in people),
        "participants_count": len(people),
        "dept": "",
        "source": "Zoom",
        "has_meeting_summary": False,
    }


def participants(room: Room, run: Run, *, now: datetime) -> list[Json]:
    """One row for each stay in the main room, without `participant_uuid`."""
    rows = [
        _row(room, who, stay, now=now)
        for who in run.connections.values()
        if who.breakout_room_uuid is None
        for stay in who.stays
    ]
    return sorted(rows, key=lambda row: str(row["join_time"]))


def reported_participant(row: Json, who: Connection) -> Json:
    """The row as a report has it, with what only reports have."""
    reported = {key: value for key, value in row.items() if key != "internal_user"}
    return reported | {
        "customer_key": who.person.customer_key,
        "participant_user_id": who.person.zoom_user_id,
        "bo_mtg_id": who.breakout_room_uuid or "",
    }


def report(room: Room, run: Run, *, now: datetime) -> list[Json]:
    """Rows of a report, breakout rooms included."""
    rows = [
        reported_participant(_row(room, who, stay, now=now), who)
        for who in run.connections.values()
        for stay in who.stays
    ]
    return sorted(rows, key=lambda row: str(row["join_time"]))


def added_registrant(room: Room, registrant: Registrant) -> Json:
    """The answer to an add; no join link while approval is pending."""
    answer: Json = {"id": room.number, "registrant_id": registrant.registrant_id, "topic": room.details.topic}
    if room.details.start_at is not None:
        answer["start_time"] = second_text(room.details.start_at)
    if registrant.status == "approved":
        answer |= {"join_url": registrant.join_url, "participant_pin_code": registrant.pin_code}
    if room.occurrences:
        answer["occurrences"] = occurrence_list(room.occurrences)
    return answer


def listed_registrant(registrant: Registrant) -> Json:
    """An item of the registrants' list."""
    item: Json = {"id": registrant.registrant_id, "email": registrant.email, "first_name": registrant.first_name}
    item |= {"last_name": registrant.last_name, "status": registrant.status}
    item["create_time"] = second_text(registrant.created_at)
    if registrant.status == "approved":
        item |= {"join_url": registrant.join_url, "participant_pin_code": registrant.pin_code}
    return item


def _row(room: Room, who: Connection, stay: Stay, *, now: datetime) -> Json:
    person = who.person
    return {
        "id": person.zoom_user_id,
        "name": person.name,
        "user_id": who.user_id,
        "registrant_id": person.registrant_id,
        "user_email": person.email,
        "join_time": second_text(stay.joined_at),
        "leave_time": second_text(stay.left_at or now),
        "duration": union_seconds([stay], as_of=now),
        "failover": False,
        "status": "in_meeting",
        "internal_user": room.account.find_host(person.email) is not None if person.email else False,
    }
