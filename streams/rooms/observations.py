"""Facts that Roomkeeper saw for itself: answers of the REST API, as of a little before the request was sent.

A 404 ends nothing: it is a point among the newest three, and what it means is decided when read. `zoom.observations`
writes what is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streams.rooms.delta import Delta, heard, registers_of
from streams.rooms.existence import SERIES_TYPES, details, listed_dates, present
from streams.rooms.fact import Fact, identifier
from streams.rooms.lattice import GONE
from streams.rooms.participants import participant_of
from streams.rooms.registrations import ORDER, registrant
from streams.rooms.runs import BY_PAST_MEETING, end_evidence, start_evidence
from zoom.observations import PREFIX

MEETING_NOT_FOUND = 3001
"""Zoom's code for a meeting that is not there; a 404 may also speak of a user."""
AGENDA_CUT_CHARS = 250
"""Lists cut the agenda here."""
OK_STATUSES = (200, 201)

_ROW = (
    ("name", "name"),
    ("user_email", "email"),
    ("participant_user_id", "user"),
    ("id", "user"),
    ("registrant_id", "registrant_id"),
    ("customer_key", "customer_key"),
    ("bo_mtg_id", "breakout_meeting_id"),
)
_ROW_TOKENS = ("registrant_id", "id", "customer_key", "user_email", "name")
"""What stands in for the `user_id` of a row, the best first."""
_PAST = (
    ("topic", "topic"),
    ("type", "type"),
    ("host_id", "host_id"),
    ("user_email", "host_email"),
    ("participants_count", "participants_reported"),
)


def meeting(fact: Fact) -> list[Delta]:
    """GET of the meeting, or the answer to its creation."""
    if _is(fact, 404) and _observed(fact).get("code", MEETING_NOT_FOUND) == MEETING_NOT_FOUND and fact.time is not None:
        return [Delta(fact, "room", (), points={GONE: ((fact.time, ""),)}, maxima={"asked": fact.time})]
    if not _is(fact, *OK_STATUSES):
        return [Delta(fact, "room", (), maxima={"asked": fact.time or 0})]
    registers = details(fact, {name: value for name, value in fact.subject.items() if name != "status"})
    status = fact.subject.get("status")
    if status is not None:
        registers["live_status"] = (fact.clock, status)
    seen = heard(fact, proves=True, asked=fact.time or 0, got=fact.time or 0)
    if _observed(fact).get("every_occurrence"):
        seen["dates_listed"] = fact.time or 0
    running = (
        [Delta(fact, "instance", (fact.uuid,), maxima={"started": 1})] if status == "started" and fact.uuid else []
    )
    dates = [present(fact, date) for date in listed_dates(fact.subject)]
    return [Delta(fact, "room", (), registers, maxima=seen), *running, *dates]


def listed_meeting(fact: Fact) -> list[Delta]:
    """One item of a host's list. Of a series the list shows some date's start; an agenda may be cut."""
    fields = dict(fact.subject)
    if fields.get("type") in SERIES_TYPES:
        fields.pop("start_time", None)
    if len(str(fields.get("agenda", ""))) >= AGENDA_CUT_CHARS:
        fields.pop("agenda")
    return [Delta(fact, "room", (), details(fact, fields), maxima=heard(fact, proves=True))]


def past_meeting(fact: Fact) -> list[Delta]:
    """GET of a past meeting; it has no end while the run goes on, and a 404 says nothing."""
    if not _is(fact, *OK_STATUSES):
        return [Delta(fact, "instance", (fact.uuid,))]
    registers = start_evidence(fact.own_time(fact.subject.get("start_time"), "start_time"), BY_PAST_MEETING)
    end = fact.own_time(fact.subject.get("end_time"), "end_time")
    registers.update(end_evidence(fact, end))
    registers.update(registers_of(fact.clock, fact.subject, _PAST))
    return [Delta(fact, "instance", (fact.uuid,), registers, maxima={"started": 1} if end is None else {"ended": 1})]


def past_instance(fact: Fact) -> list[Delta]:
    """One item of the list of runs."""
    registers = start_evidence(fact.own_time(fact.subject.get("start_time"), "start_time"), BY_PAST_MEETING)
    return [Delta(fact, "instance", (fact.uuid,), registers, maxima={"started": 1})]


def participant_row(fact: Fact) -> list[Delta]:
    """One row of a page of participants: with a `user_id` a row of that connection, else an entry of its own."""
    row = participant_of(fact)
    registers = registers_of(fact.clock, row, _ROW)
    join = fact.own_time(row.get("join_time"), "join_time")
    leave = fact.own_time(row.get("leave_time"), "leave_time")
    waited = row.get("status") == "in_waiting_room"
    points = {} if join is None or waited else {"rows": ((join, "" if leave is None else f"{leave:013d}"),)}
    user_id = identifier(row.get("user_id"), "user_id")
    if user_id:
        return [Delta(fact, "connection", (fact.uuid, user_id), registers, points=points)]
    parts = (fact.uuid, _token(row), "" if join is None else f"{join:013d}")
    return [Delta(fact, "report", parts, registers, points=points)]


def registrant_row(fact: Fact) -> list[Delta]:
    """One row of the registrants, or the answer to adding one."""
    found = fact.subject.get("registrant")
    who: Mapping[str, Any] = found if isinstance(found, dict) else {}
    added = identifier(who.get("registrant_id"), "registrant_id")
    registrant_id = added or identifier(who.get("id"), "registrant.id")
    status = who.get("status")
    about_meeting = {"topic", "start_time", "occurrences"} if added else set()
    known = {name: value for name, value in who.items() if name not in about_meeting}
    return [registrant(fact, known, registrant_id=registrant_id, status=status if status in ORDER else "")]


def is_complete(fact: Fact) -> bool:
    """Whether an observation names what it is about."""
    if fact.name == f"{PREFIX}registrant":
        found = fact.subject.get("registrant")
        return isinstance(found, dict) and bool(found.get("registrant_id") or found.get("id"))
    return fact.name in {f"{PREFIX}meeting", f"{PREFIX}listed_meeting"} or bool(fact.uuid)


def _token(row: Mapping[str, Any]) -> str:
    for field in _ROW_TOKENS:
        value = identifier(row.get(field), field)
        if value:
            return f"{field}:{value}"
    return ""


def _observed(fact: Fact) -> Mapping[str, Any]:
    found = fact.body.get("observed")
    return found if isinstance(found, dict) else {}


def _is(fact: Fact, *statuses: int) -> bool:
    return _observed(fact).get("status", 200) in statuses


HANDLERS: Mapping[str, Callable[[Fact], list[Delta]]] = {
    f"{PREFIX}meeting": meeting,
    f"{PREFIX}listed_meeting": listed_meeting,
    f"{PREFIX}past_meeting": past_meeting,
    f"{PREFIX}past_instance": past_instance,
    f"{PREFIX}past_participant": participant_row,
    f"{PREFIX}report_participant": participant_row,
    f"{PREFIX}registrant": registrant_row,
}
