"""`/v1/commands`: what became of a command, and why."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from ingress.api.access import CallerIs, ServicesAre
from ingress.api.shapes import CommandShape
from ingress.problems import not_found


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
        command=row["command"].removesuffix("Meeting").lower(),
        meeting_id=str(row["meeting_id"]),
        status=row["status"],
        code=row["code"],
        message=row["message"],
        version=row["version"],
        idempotency_key=row["idempotency_key"],
        accepted_at=row["accepted_at"],
        decided_at=row["decided_at"],
    )
