"""`/v1/commands`: what became of a command, and why."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from fastapi import APIRouter

from ingress.api.access import CallerIs, ServicesAre
from ingress.api.shapes import CommandShape
from ingress.problems import not_found

_NAMES: Mapping[str, str] = {
    "CreateMeeting": "create",
    "ChangeMeeting": "change",
    "CancelMeeting": "cancel",
    "AddRegistrant": "add_registrant",
    "SetRegistrant": "set_registrant",
    "RetryRoom": "retry",
}


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/commands", tags=["commands"])
    routes.get("/{command_id}", response_model=CommandShape, summary="Read what became of a command")(read)
    return routes


async def read(caller: CallerIs, services: ServicesAre, command_id: str) -> CommandShape:
    """One command of the account: pending, accepted, or rejected with the reason."""
    try:
        row = await services.reader.command(caller.account_id, UUID(command_id))
    except ValueError as error:
        raise not_found("command") from error
    if row is None:
        raise not_found("command")
    return CommandShape(
        command_id=str(row["command_id"]),
        command=_NAMES[row["command"]],
        meeting_id=str(row["meeting_id"]),
        registrant_id=None if row["registrant_key"] is None else str(row["registrant_key"]),
        status=row["status"],
        code=row["code"],
        message=row["message"],
        version=row["version"],
        idempotency_key=row["idempotency_key"],
        accepted_at=row["accepted_at"],
        decided_at=row["decided_at"],
    )
