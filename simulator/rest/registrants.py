"""Registrants of a meeting: add, list, approve, deny, cancel."""

from __future__ import annotations

from simulator import answers, refusals, registrations
from simulator.pages import page
from simulator.rest.calls import Answer, Call
from simulator.wire import Json

_STATUSES = ("pending", "approved", "denied")
_MOST_AT_ONCE = 30


def add(call: Call) -> Answer:
    """POST /meetings/{meeting}/registrants."""
    service, meeting = call.service, call.values["meeting"]
    room = service.world.find_room(meeting)
    if room is None or room.account is not call.account or not room.exists:
        raise refusals.no_such_meeting_for_registrant(meeting)
    service.rates.charge_registrant(room.number, email=str(call.body.get("email")), now=call.now)
    registrant = registrations.add(service.world, room, body=call.body, at=call.now)
    return Answer(status=201, body=answers.added_registrant(room, registrant))


def listing(call: Call) -> Answer:
    """GET /meetings/{meeting}/registrants."""
    room = call.service.world.room(call.account, call.values["meeting"])
    status = call.query.get("status") or "approved"
    if status not in _STATUSES:
        raise refusals.invalid_fields("status")
    one = page([each for each in room.registrants.values() if each.status == status], query=call.query, now=call.now)
    head: Json = {"page_count": -(-one.total // one.size), "page_size": one.size, "total_records": one.total}
    head["next_page_token"] = one.next_token
    return Answer(status=200, body=head | {"registrants": [answers.listed_registrant(each) for each in one.items]})


def set_status(call: Call) -> Answer:
    """PUT /meetings/{meeting}/registrants/status."""
    room = call.service.world.room(call.account, call.values["meeting"])
    call.service.rates.charge_status(room.number, now=call.now)
    who = call.body.get("registrants") or []
    if not isinstance(who, list) or len(who) > _MOST_AT_ONCE:
        raise refusals.invalid_fields("registrants")
    registrations.set_status(call.service.world, room, action=str(call.body.get("action")), who=who, at=call.now)
    return Answer(status=204)
