"""The answer to a command: at once when it is safe, or when its work is finished if the caller prefers to wait.

| | |
|---|---|
| 202 | safe; not finished, or nobody waits |
| 201, 200 | finished: a create, anything else |
| 404, 409, 412, 422 | decided against, by the code of the rejection |
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from fastapi import Response

from ingress.api.headers import etag, wait_seconds
from ingress.api.shapes import Accepted, MeetingShape
from ingress.commands import Command, Receipt
from ingress.problems import FieldProblem, Problem
from ingress.reading import Outcome
from ingress.services import Services
from ingress.waiting import LOOK_SECONDS
from schemas.errors import Unavailable
from schemas.records.meeting_commands import CreateMeeting

T = TypeVar("T")

_KINDS: Mapping[str, str] = {
    "meeting_not_found": "not_found",
    "registrant_not_found": "not_found",
    "meeting_cancelled": "meeting_cancelled",
    "version_conflict": "version_conflict",
    "idempotency_conflict": "idempotency_key_reused",
    "invalid_change": "invalid_request",
}
"""Which problem a rejection is, by its code; others are `rejected`."""
WAITED: Mapping[str, str] = {"preference-applied": "wait"}
"""Said of answers that were waited for."""


async def answer_command(services: Services, command: Command, *, prefer: str | None) -> Response:
    """Accept the command and answer the caller.

    Raises:
        Problem: it is refused, now or while the caller waits.
    """
    receipt = await services.gate.accept(command)
    outcome = await finished(services, command.meeting_id, prefer, lambda: _outcome(services, command))
    if outcome is None:
        return _accepted(receipt, is_create=isinstance(command, CreateMeeting))
    if outcome.status == "rejected" or outcome.meeting is None:
        raise rejection(outcome.code, outcome.message)
    shape = MeetingShape.of_state(outcome.meeting)
    is_create = isinstance(command, CreateMeeting)
    headers = {**etag(shape.version), **WAITED}
    if is_create:
        headers["location"] = f"/v1/meetings/{receipt.meeting_id}"
    return json_answer(shape.model_dump_json(), status=201 if is_create else 200, headers=headers)


async def finished(
    services: Services, meeting_id: str, prefer: str | None, look: Callable[[], Awaitable[T | None]]
) -> T | None:
    """What `look` finds in the end; None when that takes longer than the caller prefers, or nobody may wait."""
    seconds = wait_seconds(prefer, most=services.settings.max_wait_seconds)
    if not seconds or not services.bell.has_room:
        return None
    deadline = services.clock.monotonic_seconds() + seconds
    with services.bell.waiting_for(meeting_id) as changed:
        while not services.bell.is_closed:
            changed.clear()
            try:
                found = await look()
            except Unavailable:
                return None  # the command is safe, and that is what 202 says
            if found is not None:
                return found
            left_seconds = deadline - services.clock.monotonic_seconds()
            if left_seconds <= 0:
                return None
            await _rung(changed, min(left_seconds, LOOK_SECONDS))
    return None


def rejection(code: str | None, message: str | None) -> Problem:
    """A rejected command as a problem. What is wrong with a change begins with the field's name."""
    kind = _KINDS.get(code or "", "rejected")
    if kind != "invalid_request" or message is None:
        return Problem(kind, message)
    field, _, text = message.partition(" ")
    return Problem(kind, message, errors=[FieldProblem(place="body", field=field, message=text.removesuffix("."))])


def json_answer(text: str, *, status: int, headers: Mapping[str, str]) -> Response:
    """A JSON text as it is."""
    return Response(text, status_code=status, media_type="application/json", headers=dict(headers))


async def _outcome(services: Services, command: Command) -> Outcome | None:
    outcome = await services.reader.outcome(command.account_id, command.command_id)
    return outcome if outcome is not None and outcome.is_finished else None


async def _rung(changed: asyncio.Event, seconds: float) -> None:
    """Returns when the meeting changed, or after so long: a notification may have been lost."""
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return


def _accepted(receipt: Receipt, *, is_create: bool) -> Response:
    meeting, command = f"/v1/meetings/{receipt.meeting_id}", f"/v1/commands/{receipt.command_id}"
    body = Accepted(
        meeting_id=receipt.meeting_id,
        command_id=receipt.command_id,
        status=receipt.status,
        meeting=meeting,
        command=command,
    )
    return json_answer(body.model_dump_json(), status=202, headers={"location": meeting if is_create else command})
