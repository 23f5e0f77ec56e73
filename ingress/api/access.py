"""Who asks, and with what: the dependencies that every route of /v1 has."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from ingress.key_ring import Caller
from ingress.problems import Problem
from ingress.services import Services

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
