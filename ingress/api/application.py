"""The API as one FastAPI application with its OpenAPI page."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi_offline import FastAPIOffline

from ingress.api import answers, commands, meetings, registrants, rooms, status
from ingress.problems import MEDIA_TYPE
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
    for part in (meetings, registrants, commands, rooms):
        app.include_router(part.router(), responses=answers.PROBLEMS)
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
                for response in operation["responses"].values():
                    _as_problem(response.get("content", {}))
        app.openapi_schema = document
    return app.openapi_schema


def _as_problem(content: dict[str, Any]) -> None:
    if content.get("application/json", {}).get("schema", {}).get("$ref", "").endswith("/ProblemBody"):
        content[MEDIA_TYPE] = content.pop("application/json")
