"""The control application."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fastapi_offline import FastAPIOffline

from simulator.control import accounts, faults, meetings, plays, reports, webhooks
from simulator.refusals import Refusal
from simulator.service import Service


def create_control(service: Service) -> FastAPI:
    """The application to mount under `/control`."""
    # The page's scripts come from this server, as those of Roomkeeper's own page do.
    app: FastAPI = FastAPIOffline(title="Zoom simulator: control", docs_url="/docs", redoc_url=None)
    for part in (meetings, plays, accounts, webhooks, faults, reports):
        app.include_router(part.router(service))
    app.exception_handler(Refusal)(_refused)
    app.exception_handler(KeyError)(_unknown)
    return app


async def _refused(_request: Request, error: Refusal) -> Response:
    return JSONResponse(error.body, status_code=error.status)


async def _unknown(_request: Request, error: KeyError) -> Response:
    return JSONResponse({"message": f"unknown: {error}"}, status_code=404)
