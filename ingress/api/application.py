"""The API as one FastAPI application with its OpenAPI page."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi_offline import FastAPIOffline

from ingress.api import answers, commands, meetings, registrants, rooms, status
from ingress.problems import MEDIA_TYPE, ProblemBody
from ingress.services import Services

DESCRIPTION = """\
Say what meetings you want; Roomkeeper makes exactly one Zoom room for each, keeps the room equal to the meeting, and
knows who attended.

* **Keys.** `Authorization: Bearer rk_...`, each key for one account. What belongs to another account is not found.
* **Commands.** Creating, changing and cancelling are commands, and so is what is asked about each registrant. `202`
  means: safe, whatever breaks from now on. With `Prefer: wait=N` the answer is held until the work is finished.
  `/v1/commands/{id}` tells what became of one, and why.
* **Trying again.** Send the same `Idempotency-Key` with the same content as often as you like: it is one command.
* **Versions.** `ETag` is a meeting's version; with `If-Match` a change is refused (412) when the meeting has moved on.
* **Errors** are `application/problem+json` (RFC 9457): `code` is the kind, `errors` the fields, `cure` what to do.
"""

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": ProblemBody, "description": "A header or parameter does not hold."},
    401: {"model": ProblemBody, "description": "No valid API key."},
    404: {"model": ProblemBody, "description": "Nothing there for this key."},
    422: {"model": ProblemBody, "description": "The request does not hold."},
    503: {"model": ProblemBody, "description": "Not now; try again after `Retry-After` seconds."},
}
_COMMAND_PROBLEMS: dict[int | str, dict[str, Any]] = {
    409: {"model": ProblemBody, "description": "Decided against (only with `Prefer: wait`)."},
    412: {"model": ProblemBody, "description": "The version has moved on (only with `Prefer: wait`)."},
    413: {"model": ProblemBody, "description": "The body is too large."},
    415: {"model": ProblemBody, "description": "The body is not JSON."},
}


def create_api(services: Services) -> FastAPI:
    """The application; it answers every error with a problem."""
    # Swagger UI comes from this server: nothing of the page is fetched from elsewhere.
    app: FastAPI = FastAPIOffline(
        title="Roomkeeper",
        version=version("roomkeeper"),
        description=DESCRIPTION,
        redoc_url=None,
        docs_url="/docs",
        openapi_url="/openapi.json",
        redirect_slashes=False,
    )
    app.state.services = services
    app.include_router(meetings.router(), responses={**_PROBLEMS, **_COMMAND_PROBLEMS})
    app.include_router(registrants.router(), responses={**_PROBLEMS, **_COMMAND_PROBLEMS})
    app.include_router(commands.router(), responses=_PROBLEMS)
    app.include_router(rooms.router(), responses=_PROBLEMS)
    app.include_router(status.router())
    answers.install(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's own way to change the page
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document, in which problems have the media type that they are sent with."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        for path in document["paths"].values():
            for operation in path.values():
                for code, response in operation["responses"].items():
                    if int(code) >= 400 and "content" in response:
                        response["content"] = {MEDIA_TYPE: response["content"].pop("application/json")}
        app.openapi_schema = document
    return app.openapi_schema
