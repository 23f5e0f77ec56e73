"""`/v1/meetings`: ask for meetings, change and cancel them, and read what became of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Body, Query, Response

from ingress.api.access import CallerIs, ServicesAre, known_meeting, meeting_uuid
from ingress.api.answers import COMMAND_PROBLEMS
from ingress.api.finishing import answer_command
from ingress.api.headers import IdempotencyKey, IfMatch, Prefer, etag, expected_version, idempotency_key, required_key
from ingress.api.paging import Cursor, Limit, page_of, place_of
from ingress.api.shapes import Accepted, MeetingPage, MeetingShape
from ingress.key_ring import Caller
from ingress.problems import body_problem, not_found, query_problem
from schemas.ids import CommandId, MeetingId, command_id_for, meeting_id_for
from schemas.records.meeting_commands import CancelMeeting, ChangeMeeting, CreateMeeting, MeetingDetails
from schemas.requests import ChangeRequest, MeetingRequest, cancel_hash
from schemas.schedule import ScheduleError, resolve_start

REASON_CHARS = 500

_CREATE_EXAMPLES: Any = {
    "one meeting": {
        "value": {
            "host": "host@example.com",
            "topic": "Weekly planning",
            "start_time": "2026-12-01T15:00:00",
            "timezone": "Europe/Madrid",
            "duration_minutes": 45,
        }
    },
    "a series": {
        "value": {
            "host": "host@example.com",
            "topic": "Daily stand-up",
            "start_time": "2026-12-01T09:00:00",
            "timezone": "Europe/London",
            "duration_minutes": 15,
            "recurrence": {"type": 2, "weekly_days": "2,3,4,5,6", "end_times": 20},
            "settings": {"waiting_room": False, "join_before_host": True},
        }
    },
}
_CHANGE_EXAMPLES: Any = {
    "later": {"value": {"start_time": "2026-12-01T16:00:00"}},
    "another topic, no series": {"value": {"topic": "Planning", "recurrence": None}},
}
_COMMAND_ANSWERS: dict[int | str, dict[str, Any]] = {
    **COMMAND_PROBLEMS,
    202: {"model": Accepted, "description": "Safe, and not finished yet."},
}


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/meetings", tags=["meetings"])
    routes.post(
        "", status_code=201, response_model=MeetingShape, responses=_COMMAND_ANSWERS, summary="Ask for a meeting"
    )(create)
    routes.get("", response_model=MeetingPage, summary="List meetings")(listed)
    routes.get("/{meeting_id}", response_model=MeetingShape, summary="Read a meeting")(read)
    routes.patch("/{meeting_id}", response_model=MeetingShape, responses=_COMMAND_ANSWERS, summary="Change a meeting")(
        change
    )
    routes.delete("/{meeting_id}", response_model=MeetingShape, responses=_COMMAND_ANSWERS, summary="Cancel a meeting")(
        cancel
    )
    return routes


async def create(
    caller: CallerIs,
    services: ServicesAre,
    request: Annotated[MeetingRequest, Body(openapi_examples=_CREATE_EXAMPLES)],
    key: IdempotencyKey = None,
    prefer: Prefer = None,
) -> Response:
    """Ask for a meeting; Roomkeeper makes exactly one Zoom room for it.

    The answer is 202 as soon as the request is safe. With `Prefer: wait=N` it is 201 and the meeting with its room,
    when that is there within N seconds.
    """
    named = required_key(key)
    details = _details(request)
    meeting_id = meeting_id_for(caller.account_id, named)
    command = CreateMeeting(
        command_id=command_id_for(caller.account_id, meeting_id, named),
        account_id=caller.account_id,
        meeting_id=meeting_id,
        issued_at=services.clock.now(),
        issued_by=caller.issued_by,
        idempotency_key=named,
        request_hash=request.request_hash(),
        details=details,
    )
    return await answer_command(services, command, prefer=prefer)


async def listed(
    caller: CallerIs,
    services: ServicesAre,
    cursor: Cursor = None,
    limit: Limit = None,
    status: Annotated[Literal["pending", "scheduled", "cancelled"] | None, Query(description="Only these.")] = None,
    host: Annotated[str | None, Query(max_length=128, description="Only this host's, as it was asked for.")] = None,
) -> MeetingPage:
    """The account's meetings, newest first. A page is stable: what is created meanwhile stands before it."""
    if host is not None and not host.isprintable():
        raise query_problem("host", "must be printable text")
    rows = limit or services.settings.page_size
    scope = ("meetings", caller.account_id, status, host)
    found = await services.reader.meetings(
        caller.account_id, status=status, host=host, before=place_of(cursor, scope=scope), rows=rows + 1
    )
    items, after = page_of(found, rows=rows, scope=scope, place=lambda each: (each.created_at, each.meeting_id))
    return MeetingPage(items=items, next_cursor=after)


async def read(caller: CallerIs, services: ServicesAre, meeting_id: str, response: Response) -> MeetingShape:
    """One meeting, also while its create is pending. `ETag` is its version."""
    meeting = await services.reader.meeting(caller.account_id, meeting_uuid(meeting_id))
    if meeting is None:
        raise not_found("meeting")
    response.headers.update(etag(meeting.version))
    return meeting


async def change(
    caller: CallerIs,
    services: ServicesAre,
    meeting_id: str,
    request: Annotated[ChangeRequest, Body(openapi_examples=_CHANGE_EXAMPLES)],
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
    prefer: Prefer = None,
) -> Response:
    """Change what the body names; the rest stays as it is. The room follows."""
    version = expected_version(if_match)
    _check_start(request)
    known = await known_meeting(services, caller, meeting_id)
    changes = request.changes()
    command = ChangeMeeting(
        command_id=_command_id(caller, known, key),
        account_id=caller.account_id,
        meeting_id=known,
        issued_at=services.clock.now(),
        issued_by=caller.issued_by,
        idempotency_key=key,
        request_hash=request.request_hash(expected_version=version),
        expected_version=version,
        changes=changes,
    )
    return await answer_command(services, command, prefer=prefer)


async def cancel(
    caller: CallerIs,
    services: ServicesAre,
    meeting_id: str,
    reason: Annotated[str, Query(max_length=REASON_CHARS, description="Kept with the command.")] = "",
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
    prefer: Prefer = None,
) -> Response:
    """Cancel a meeting, for good; its room is removed."""
    version = expected_version(if_match)
    if not reason.isprintable():
        raise query_problem("reason", "must be printable text")
    known = await known_meeting(services, caller, meeting_id)
    command = CancelMeeting(
        command_id=_command_id(caller, known, key),
        account_id=caller.account_id,
        meeting_id=known,
        issued_at=services.clock.now(),
        issued_by=caller.issued_by,
        idempotency_key=key,
        request_hash=cancel_hash(reason=reason, expected_version=version),
        expected_version=version,
        reason=reason,
    )
    return await answer_command(services, command, prefer=prefer)


def _details(request: MeetingRequest) -> MeetingDetails:
    try:
        return request.details()
    except ScheduleError as error:
        raise body_problem(error.field, str(error)) from error


def _check_start(request: ChangeRequest) -> None:
    """A start that can be judged without the meeting is judged at once; the rest is `decide`'s."""
    if request.start_time is None and request.timezone is None:
        return
    try:
        resolve_start(request.start_time or "2000-01-01T12:00:00", request.timezone or "UTC")
    except ScheduleError as error:
        raise body_problem(error.field, str(error)) from error


def _command_id(caller: Caller, meeting_id: MeetingId, key: str | None) -> CommandId:
    """Without a key every request is a command of its own."""
    named = idempotency_key(key)
    return CommandId(str(uuid4())) if named is None else command_id_for(caller.account_id, meeting_id, named)
