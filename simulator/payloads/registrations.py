"""Events about registrants: created, approved, denied, cancelled."""

from __future__ import annotations

from datetime import datetime

from simulator.model import Registrant, Room
from simulator.payloads.envelope import Event, operated, plain
from simulator.payloads.meetings import scheduled_object
from simulator.wire import Json


def created(room: Room, registrant: Registrant, *, at: datetime) -> Event:
    """`meeting.registration_created`, the one without an operator; no pin while approval is pending."""
    subject = _name(registrant) | {"org": "", "custom_questions": [], "status": registrant.status}
    subject["join_url"] = registrant.join_url
    if registrant.status == "approved":
        subject["participant_pin_code"] = registrant.pin_code
    whole = scheduled_object(room) | {"registrant": subject}
    return plain("meeting.registration_created", room.account, whole, at=at)


def changed(room: Room, registrant: Registrant, *, at: datetime) -> Event:
    """`meeting.registration_approved`, `denied` or `cancelled`, by the registrant's present status."""
    subject = _name(registrant)
    if registrant.status == "approved":
        subject |= {"join_url": registrant.join_url, "participant_pin_code": registrant.pin_code}
    whole = scheduled_object(room) | {"registrant": subject}
    return operated(f"meeting.registration_{registrant.status}", room.account, whole, at=at)


def _name(registrant: Registrant) -> Json:
    return {
        "id": registrant.registrant_id,
        "first_name": registrant.first_name,
        "last_name": registrant.last_name,
        "email": registrant.email,
    }
