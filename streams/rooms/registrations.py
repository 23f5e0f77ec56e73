"""Facts about registrants: each is an entry of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.rooms.delta import Delta, heard, registers_but
from streams.rooms.existence import listed_dates
from streams.rooms.fact import Fact, identifier

ORDER = {"pending": 1, "approved": 2, "denied": 3, "cancelled": 4}
"""Which status wins at equal times."""
_APART = frozenset({"id", "registrant_id", "status"})


def registration_created(fact: Fact) -> list[Delta]:
    """`meeting.registration_created`: pending, or approved at once where nobody need approve."""
    status = _registrant(fact).get("status")
    return _registration(fact, status if status in ORDER else "pending")


def registration_approved(fact: Fact) -> list[Delta]:
    """`meeting.registration_approved`."""
    return _registration(fact, "approved")


def registration_denied(fact: Fact) -> list[Delta]:
    """`meeting.registration_denied`."""
    return _registration(fact, "denied")


def registration_cancelled(fact: Fact) -> list[Delta]:
    """`meeting.registration_cancelled`."""
    return _registration(fact, "cancelled")


def registrant(fact: Fact, who: Mapping[str, Any], *, registrant_id: str, status: str) -> Delta:
    """What a fact says of one registrant; a blank is absent."""
    registers = registers_but(fact.clock, who, _APART)
    if status in ORDER:
        registers["status"] = (fact.ordered_clock(ORDER[status]), status)
    return Delta(fact, "registrant", (registrant_id,), registers, maxima=heard(fact, proves=True))


def registrant_id_of(fact: Fact) -> str:
    """The registrant that the fact concerns; blank where it names none."""
    return identifier(_registrant(fact).get("id"), "registrant.id")


def _registration(fact: Fact, status: str) -> list[Delta]:
    who: dict[str, Any] = {**_registrant(fact)}
    dates = [identifier(date.get("occurrence_id"), "occurrence_id") for date in listed_dates(fact.subject)]
    if dates:
        who["occurrence_ids"] = dates
    return [registrant(fact, who, registrant_id=registrant_id_of(fact), status=status)]


def _registrant(fact: Fact) -> Mapping[str, Any]:
    found = fact.subject.get("registrant")
    return found if isinstance(found, dict) else {}
