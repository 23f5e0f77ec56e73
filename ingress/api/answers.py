"""How errors of the framework, of Roomkeeper and of nobody's making become problems, and which the page tells of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from ingress.problems import MEDIA_TYPE, FieldProblem, Place, Problem, ProblemBody, unavailable
from schemas.errors import RoomkeeperError, Unavailable

MOST_FIELDS = 20
_FRAMEWORK: Mapping[int, str] = {
    400: "malformed_body",
    401: "unauthenticated",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    503: "unavailable",
}
_CURES: Mapping[str, str] = {
    "missing": "is missing",
    "extra_forbidden": "is not known here: check its spelling, or leave it out",
}

PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": ProblemBody, "description": "A header or parameter does not hold."},
    401: {"model": ProblemBody, "description": "No valid API key."},
    404: {"model": ProblemBody, "description": "Nothing there for this key."},
    422: {"model": ProblemBody, "description": "The request does not hold."},
    503: {"model": ProblemBody, "description": "Not now; try again after `Retry-After` seconds."},
}
"""Of every route that reads."""
COMMAND_PROBLEMS: dict[int | str, dict[str, Any]] = {
    409: {"model": ProblemBody, "description": "Decided against (only with `Prefer: wait`)."},
    412: {"model": ProblemBody, "description": "The version has moved on (only with `Prefer: wait`)."},
    413: {"model": ProblemBody, "description": "The body is too large."},
    415: {"model": ProblemBody, "description": "The body is not JSON."},
}
"""Besides, of those that command."""


def install(app: FastAPI) -> None:
    """Have `app` answer every error with a problem."""
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(RoomkeeperError, _roomkeeper)
    app.add_exception_handler(Exception, _unforeseen)


def answer(problem: Problem) -> Response:
    """The response."""
    return Response(problem.body(), status_code=problem.kind.status, media_type=MEDIA_TYPE, headers=problem.headers)


async def _problem(_request: Request, error: Exception) -> Response:
    return answer(cast("Problem", error))


async def _framework(_request: Request, error: Exception) -> Response:
    status, headers = cast("HTTPException", error).status_code, cast("HTTPException", error).headers
    code = _FRAMEWORK.get(status, "internal" if status >= 500 else "invalid_request")
    return answer(Problem(code, headers=headers))


async def _validation(_request: Request, error: Exception) -> Response:
    errors = cast("RequestValidationError", error).errors()
    if any(each["type"] == "json_invalid" for each in errors):
        return answer(Problem("malformed_body", "The body is no JSON document."))
    fields = _fields(errors)
    code = "invalid_request" if any(each.place == "body" for each in fields) else "invalid_parameter"
    return answer(Problem(code, errors=fields))


async def _roomkeeper(_request: Request, error: Exception) -> Response:
    log = structlog.get_logger("roomkeeper.ingress")
    if isinstance(error, Unavailable):
        log.warning("ingress.request_unavailable", error=str(error))
        return answer(unavailable("The database does not answer.", retry_after_seconds=error.retry_after_seconds))
    log.error("ingress.request_broken", error=str(error), family=type(error).__name__)
    return answer(Problem("internal"))


async def _unforeseen(_request: Request, error: Exception) -> Response:
    structlog.get_logger("roomkeeper.ingress").error("ingress.request_failed", exc_info=error)
    return answer(Problem("internal"))


def _fields(errors: Iterable[Mapping[str, Any]]) -> list[FieldProblem]:
    found: list[FieldProblem] = []
    for error in errors:
        place, field = _where(error["loc"])
        message = _CURES.get(error["type"]) or str(error["msg"]).removeprefix("Value error, ")
        found.append(FieldProblem(place=place, field=field, message=message))
    return found[:MOST_FIELDS]


def _where(location: tuple[Any, ...]) -> tuple[Place, str]:
    first, rest = str(location[0]), location[1:]
    place: Place = first if first in ("body", "header", "query", "path") else "body"  # type: ignore[assignment]
    return place, ".".join(map(str, rest)) or "(the whole)"
