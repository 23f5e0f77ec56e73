"""Who asks, and with what: the dependencies that every route of /v1 has."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from ingress.key_ring import Caller
from ingress.problems import Problem, not_found
from ingress.services import Services
from schemas.ids import MeetingId

_BEARER = HTTPBearer(
    auto_error=False, scheme_name="API key", description="`rk_<key id>_<secret>`, made by `roomkeeper keys create`."
)


def services_of(request: Request) -> Services:
    """The parts that the application was made with."""
    services: Services = request.app.state.services
    return services


async def caller_of(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]
) -> Caller:
    """The caller.

    Raises:
        Problem: no key, or none that holds.
    """
    caller = None if credentials is None else await services_of(request).keys.caller(credentials.credentials)
    if caller is None:
        detail = "The header Authorization is missing." if credentials is None else "The key is unknown or revoked."
        raise Problem("unauthenticated", detail, headers={"www-authenticate": 'Bearer realm="roomkeeper"'})
    return caller


CallerIs = Annotated[Caller, Depends(caller_of)]
ServicesAre = Annotated[Services, Depends(services_of)]


async def known_meeting(services: Services, caller: Caller, meeting_id: str) -> MeetingId:
    """The meeting's id.

    Raises:
        Problem: the caller's account has no such meeting.
    """
    found = meeting_uuid(meeting_id)
    if not await services.reader.knows_meeting(caller.account_id, found):
        raise not_found("meeting")
    return MeetingId(str(found))


def meeting_uuid(meeting_id: str) -> UUID:
    """The id that a path names.

    Raises:
        Problem: it is none, so there is no such meeting.
    """
    try:
        return UUID(meeting_id)
    except ValueError as error:
        raise not_found("meeting") from error
