"""Who is registered for a room: add, approve, deny, cancel.

Adding an address that is registered already gives the registrant that exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from simulator import refusals
from simulator.model import Registrant, Room
from simulator.payloads import registrations as told
from simulator.wire import Json
from simulator.world import World

MOST_REGISTRANTS = 4_999
AUTOMATIC, MANUAL = 0, 1
_STATUS = {"approve": "approved", "deny": "denied", "cancel": "cancelled"}


def add(world: World, room: Room, *, body: Json, at: datetime) -> Registrant:
    """The registrant with the address, made if need be."""
    email, first_name = body.get("email"), body.get("first_name")
    wrong = [name for name, value in (("email", email), ("first_name", first_name)) if not _is_text(value)]
    if "email" not in wrong and "@" not in str(email):
        wrong.append("email")
    if wrong:
        raise refusals.invalid_fields(*wrong)
    approval = room.details.settings.get("approval_type")
    if approval not in (AUTOMATIC, MANUAL) or not room.host.licensed:
        raise refusals.cannot_access("Registration has not been enabled for this meeting.")
    found = by_email(room, str(email))
    if found is not None and found.status != "cancelled":
        return found
    if len(room.registrants) >= MOST_REGISTRANTS:
        raise refusals.meeting_full()
    ids = world.ids
    registrant = Registrant(
        registrant_id=ids.opaque(),
        email=str(email),
        first_name=str(first_name),
        last_name=str(body.get("last_name") or ""),
        status="approved" if approval == AUTOMATIC else "pending",
        join_url=f"https://zoom.example.com/w/{room.number}?tk={ids.opaque(32)}",
        pin_code=int(ids.digits(6)),
        created_at=at,
    )
    room.registrants[registrant.registrant_id] = registrant
    world.emit(room, told.created(room, registrant, at=at), at=at)
    return registrant


def set_status(world: World, room: Room, *, action: str, who: Iterable[Json], at: datetime) -> None:
    """Approves, denies or cancels registrants named by id or e-mail; unknown ones are passed over."""
    if action not in _STATUS:
        raise refusals.invalid_fields("action")
    for named in who:
        found = room.registrants.get(str(named.get("id"))) or by_email(room, str(named.get("email")))
        if found is not None and found.status != _STATUS[action]:
            found.status = _STATUS[action]
            world.emit(room, told.changed(room, found, at=at), at=at)


def by_email(room: Room, email: str) -> Registrant | None:
    """The newest registrant with the address, in whatever case."""
    wanted = email.casefold()
    return next((each for each in reversed(room.registrants.values()) if each.email.casefold() == wanted), None)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
