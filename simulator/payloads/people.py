"""Events about people in a run: joining, leaving, waiting, breakout rooms, roles, sharing.

`user_id` names a connection, not a person; identifiers of people outside the account are blank. Live joins and leaves
carry addresses that no schema knows.
"""

from __future__ import annotations

from datetime import datetime

from simulator.model import Connection, Person, Room, Run
from simulator.payloads.envelope import Event, Shapes, reversed_order
from simulator.payloads.meetings import run_object
from simulator.wire import Json, second_text

_PUBLIC_ADDRESS, _PRIVATE_ADDRESS = "203.0.113.7", "198.51.100.7"


def joined(room: Room, run: Run, who: Connection, shapes: Shapes, *, at: datetime) -> Event:
    """Somebody came into the main room, or into the connection's breakout room."""
    subject = _participant(who) | {"join_time": second_text(at)}
    if who.breakout_room_uuid is not None:
        return _about("participant_joined_breakout_room", room, run, subject, at=at, breakout=who.breakout_room_uuid)
    if shapes.live():
        subject["public_ip"] = _PUBLIC_ADDRESS
    return _about("participant_joined", room, run, subject, at=at)


def left(room: Room, run: Run, who: Connection, shapes: Shapes, *, at: datetime, reason: str) -> Event:
    """Somebody went out of it; the reason is free text in two styles."""
    subject = _participant(who) | {"leave_time": second_text(at)}
    if who.breakout_room_uuid is not None:
        subject["leave_reason"] = "left the breakout room to join the main meeting."
        return _about("participant_left_breakout_room", room, run, subject, at=at, breakout=who.breakout_room_uuid)
    if shapes.live():
        subject["leave_reason"] = f"left the meeting. Reason : {reason}"
        subject |= {"public_ip": _PUBLIC_ADDRESS, "private_ip": _PRIVATE_ADDRESS}
    else:
        subject["leave_reason"] = f"{who.person.name} left the meeting.<br>Reason: {reason}."
    return _about("participant_left", room, run, subject, at=at)


def lobby(kind: str, room: Room, run: Run, who: Connection, *, at: datetime) -> Event:
    """One of the four waiting-room events: joined, admitted, put in, left."""
    return _about(f"participant_{kind}", room, run, _participant(who) | {"date_time": second_text(at)}, at=at)


def role_changed(room: Room, run: Run, who: Connection, *, at: datetime, old: str, new: str) -> Event:
    """`participant_role_changed`."""
    subject = _participant(who)
    del subject["id"]
    subject |= {"date_time": second_text(at), "old_role": old, "new_role": new}
    return _about("participant_role_changed", room, run, subject, at=at)


def sharing(kind: str, room: Room, run: Run, who: Connection, *, at: datetime) -> Event:
    """`sharing_started` or `sharing_ended`."""
    shared = {"content": "desktop", "link_source": "", "file_link": "", "date_time": second_text(at), "source": ""}
    subject = {"user_id": who.user_id, "user_name": who.person.name, "id": who.person.zoom_user_id}
    return _about(f"sharing_{kind}", room, run, {**subject, "sharing_details": shared}, at=at)


def before_host(kind: str, room: Room, run: Run, person: Person, *, at: datetime) -> Event:
    """`participant_jbh_joined`, `jbh_waiting` or `jbh_waiting_left`: neither `user_id` nor a time of its own."""
    subject: Json = {"id": person.zoom_user_id, "user_name": person.name, "customer_key": person.customer_key}
    if kind != "jbh_waiting":
        subject["registrant_id"] = person.registrant_id
    event = _about(f"participant_{kind}", room, run, subject, at=at)
    if kind == "jbh_waiting_left":
        event.body["payload"]["object"]["id"] = room.number
    return event


def alert(room: Room, run: Run, *, at: datetime) -> Event:
    """`meeting.alert`: the quality of service is poor."""
    subject = _ordered(room, run) | {"issues": ["Unstable audio quality"]}
    return reversed_order("meeting.alert", room.account, subject, at=at)


def _participant(who: Connection) -> Json:
    person = who.person
    subject: Json = {"user_id": who.user_id, "user_name": person.name, "id": person.zoom_user_id}
    subject |= {"participant_user_id": person.zoom_user_id, "participant_uuid": who.participant_uuid}
    subject |= {"email": person.email, "registrant_id": person.registrant_id}
    if person.customer_key:
        subject["customer_key"] = person.customer_key
    if person.phone_number:
        subject["phone_number"] = person.phone_number
    if who.parent_user_id is not None:
        subject["parent_user_id"] = who.parent_user_id
    return subject


def _about(kind: str, room: Room, run: Run, participant: Json, *, at: datetime, breakout: str | None = None) -> Event:
    run_part = _ordered(room, run)
    subject = {"uuid": run_part.pop("uuid"), "participant": participant, **run_part}
    if breakout is not None:
        subject["breakout_room_uuid"] = breakout
    return reversed_order(f"meeting.{kind}", room.account, subject, at=at)


def _ordered(room: Room, run: Run) -> Json:
    found = run_object(room, run)
    return {key: found[key] for key in ("uuid", "id", "type", "topic", "host_id", "duration", "start_time", "timezone")}
