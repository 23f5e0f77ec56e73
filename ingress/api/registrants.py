"""`/v1/meetings/{meeting_id}/registrants`: people who are registered for a meeting, many in one request.

Each person is a command of its own with an outcome of its own. A request of several people has one idempotency key: its
commands are recorded together, and other people under the same key are other content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

from fastapi import APIRouter, Body, Query, Response

from ingress.api.access import CallerIs, ServicesAre, known_meeting, meeting_uuid
from ingress.api.answers import COMMAND_PROBLEMS
from ingress.api.finishing import WAITED, finished, json_answer, rejection
from ingress.api.headers import IdempotencyKey, Prefer, idempotency_key
from ingress.api.paging import Cursor, Limit, page_of, place_of
from ingress.api.registrant_shapes import (
    AcceptedPeople,
    AcceptedPerson,
    DecidedPeople,
    DecidedPerson,
    RegistrantPage,
    RegistrantShape,
)
from ingress.commands import RegistrantCommand
from ingress.key_ring import Caller
from ingress.problems import not_found
from ingress.reading import RegistrantOutcome
from ingress.services import Services
from schemas.ids import CommandId, MeetingId, command_id_for
from schemas.records.meeting_commands import AddRegistrant, SetRegistrant
from schemas.requests import DecisionsRequest, RegistrantsRequest

Status = Literal["registering", "pending", "approved", "denied", "cancelled", "failed"]
_ANSWERS: dict[int | str, dict[str, Any]] = {
    **COMMAND_PROBLEMS,
    202: {"model": AcceptedPeople, "description": "Safe, and not finished yet."},
}
_ADD_EXAMPLES: Any = {
    "two people": {
        "value": {
            "registrants": [
                {"email": "guest.one@example.com", "first_name": "Guest", "last_name": "One"},
                {"email": "guest.two@example.com", "first_name": "Guest", "last_name": "Two"},
            ]
        }
    }
}
_DECIDE_EXAMPLES: Any = {
    "one in, one out": {
        "value": {
            "decisions": [
                {"email": "guest.one@example.com", "action": "approve"},
                {"email": "guest.two@example.com", "action": "cancel"},
            ]
        }
    }
}


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/meetings/{meeting_id}/registrants", tags=["registrants"])
    routes.post("", response_model=DecidedPeople, responses=_ANSWERS, summary="Register people")(add)
    routes.patch("", response_model=DecidedPeople, responses=_ANSWERS, summary="Approve, deny or cancel people")(decide)
    routes.get("", response_model=RegistrantPage, summary="List a meeting's registrants")(listed)
    routes.get("/{registrant_id}", response_model=RegistrantShape, summary="Read a registrant")(read)
    return routes


async def add(
    caller: CallerIs,
    services: ServicesAre,
    meeting_id: str,
    request: Annotated[RegistrantsRequest, Body(openapi_examples=_ADD_EXAMPLES)],
    key: IdempotencyKey = None,
    prefer: Prefer = None,
) -> Response:
    """Register people, at most a hundred at once; whoever is registered already stays so.

    The answer is 202 as soon as all of them are safe. With `Prefer: wait=N` it is 200 with each person's outcome and
    join link, when all of those are there within N seconds.
    """
    known = await known_meeting(services, caller, meeting_id)
    hashes = request.request_hashes()
    commands = [
        AddRegistrant(
            **_common(services, caller, known, key, place=place),
            request_hash=hashes[person.email],
            **person.model_dump(),
        )
        for place, person in enumerate(request.registrants)
    ]
    return await _answer(services, known, commands, prefer=prefer)


async def decide(
    caller: CallerIs,
    services: ServicesAre,
    meeting_id: str,
    request: Annotated[DecisionsRequest, Body(openapi_examples=_DECIDE_EXAMPLES)],
    key: IdempotencyKey = None,
    prefer: Prefer = None,
) -> Response:
    """Approve, deny or cancel registered people, at most a hundred at once, each named by the e-mail address."""
    known = await known_meeting(services, caller, meeting_id)
    hashes = request.request_hashes()
    commands = [
        SetRegistrant(
            **_common(services, caller, known, key, place=place),
            request_hash=hashes[decision.email],
            **decision.model_dump(),
        )
        for place, decision in enumerate(request.decisions)
    ]
    return await _answer(services, known, commands, prefer=prefer)


async def listed(
    caller: CallerIs,
    services: ServicesAre,
    meeting_id: str,
    cursor: Cursor = None,
    limit: Limit = None,
    status: Annotated[Status | None, Query(description="Only these.")] = None,
) -> RegistrantPage:
    """The people of one meeting, newest first."""
    known = await known_meeting(services, caller, meeting_id)
    rows = limit or services.settings.page_size
    scope = ("registrants", caller.account_id, known, status)
    found = await services.reader.registrants(
        caller.account_id, known, status=status, before=place_of(cursor, scope=scope), rows=rows + 1
    )
    items, after = page_of(found, rows=rows, scope=scope, place=_place)
    return RegistrantPage(items=items, next_cursor=after)


async def read(caller: CallerIs, services: ServicesAre, meeting_id: str, registrant_id: str) -> RegistrantShape:
    """One person, with the link to the meeting's present room."""
    try:
        person = await services.reader.registrant(caller.account_id, meeting_uuid(meeting_id), UUID(registrant_id))
    except ValueError as error:
        raise not_found("registrant") from error
    if person is None:
        raise not_found("registrant")
    return person


async def _answer(
    services: Services, meeting_id: MeetingId, commands: Sequence[RegistrantCommand], *, prefer: str | None
) -> Response:
    receipts = await services.gate.accept_all(commands)
    outcomes = await finished(services, meeting_id, prefer, lambda: _outcomes(services, commands))
    if outcomes is None:
        accepted = [
            AcceptedPerson(
                email=command.email,
                command_id=command.command_id,
                status=receipt.status,
                command=f"/v1/commands/{command.command_id}",
            )
            for command, receipt in zip(commands, receipts, strict=True)
        ]
        body = AcceptedPeople(meeting_id=meeting_id, items=accepted)
        where = accepted[0].command if len(accepted) == 1 else f"/v1/meetings/{meeting_id}/registrants"
        return json_answer(body.model_dump_json(), status=202, headers={"location": where})
    items = [_decided(command, outcomes[command.command_id]) for command in commands]
    if all(item.status == "rejected" for item in items) and len({item.code for item in items}) == 1:
        raise rejection(items[0].code, items[0].message)
    decided = DecidedPeople(meeting_id=meeting_id, items=items)
    return json_answer(decided.model_dump_json(), status=200, headers=WAITED)


async def _outcomes(
    services: Services, commands: Sequence[RegistrantCommand]
) -> Mapping[str, RegistrantOutcome] | None:
    """What became of all of them, by command; None while one is not finished."""
    found = await services.reader.registrant_outcomes(
        commands[0].account_id, [command.command_id for command in commands]
    )
    return found if len(found) == len(commands) and all(each.is_finished for each in found.values()) else None


def _decided(command: RegistrantCommand, outcome: RegistrantOutcome) -> DecidedPerson:
    return DecidedPerson(
        email=command.email,
        command_id=command.command_id,
        status=outcome.status,
        command=f"/v1/commands/{command.command_id}",
        code=outcome.code,
        message=outcome.message,
        registrant=outcome.registrant,
    )


def _common(
    services: Services, caller: Caller, meeting_id: MeetingId, key: str | None, *, place: int
) -> dict[str, Any]:
    """What all commands share. Without a key every request is commands of its own."""
    named = idempotency_key(key)
    command_id = CommandId(str(uuid4()))
    if named is not None:
        command_id = command_id_for(caller.account_id, meeting_id, named, place=place)
    return {
        "command_id": command_id,
        "account_id": caller.account_id,
        "meeting_id": meeting_id,
        "issued_at": services.clock.now(),
        "issued_by": caller.issued_by,
        "idempotency_key": named,
    }


def _place(person: RegistrantShape) -> tuple[datetime, str]:
    return person.created_at, person.registrant_id
