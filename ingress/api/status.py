"""`/v1/status`, `/health`, `/metrics` and the pages of problems."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel

from ingress.api.access import CallerIs, ServicesAre
from ingress.problems import KINDS, TYPE_PREFIX, not_found


class AlertShape(BaseModel):
    """Something that is wrong at the moment."""

    name: str
    since_at: str
    message: str


class StatusShape(BaseModel):
    """Whether Roomkeeper does its work for the account."""

    status: Literal["ok", "degraded"]
    alerts: list[AlertShape]


class HealthShape(BaseModel):
    """Whether this process does its work."""

    status: Literal["ok", "unavailable"]
    faults: list[str]


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter()
    routes.get("/v1/status", response_model=StatusShape, tags=["status"], summary="Is anything wrong?")(status)
    routes.get("/health/live", response_model=HealthShape, tags=["health"], summary="Does the process run?")(live)
    routes.get("/health/ready", response_model=HealthShape, tags=["health"], summary="Can it do its work?")(ready)
    routes.get("/metrics", tags=["health"], include_in_schema=False)(metrics)
    routes.get(TYPE_PREFIX + "{code}", include_in_schema=False)(problem)
    return routes


async def status(caller: CallerIs, services: ServicesAre) -> StatusShape:
    """`degraded` while an alert stands; requests are taken all the same, and done when that is possible again."""
    alerts = [
        AlertShape(name=row["name"], since_at=row["since_at"].isoformat(), message=row["message"])
        for row in await services.reader.alerts(caller.account_id)
    ]
    return StatusShape(status="degraded" if alerts else "ok", alerts=alerts)


async def live() -> HealthShape:
    """Answers as long as the process runs: restart it when it does not."""
    return HealthShape(status="ok", faults=[])


async def ready(services: ServicesAre, response: Response) -> HealthShape:
    """200 when broker and database answer and the topics are as declared, else 503 with the reasons."""
    faults = await services.faults()
    if faults:
        response.status_code = 503
    return HealthShape(status="unavailable" if faults else "ok", faults=list(faults))


async def metrics(services: ServicesAre) -> Response:
    """The counts of this process, in Prometheus' text format."""
    content, media_type = services.metrics.exposition()
    return Response(content, media_type=media_type)


async def problem(code: str) -> dict[str, str | int]:
    """What a kind of problem means, and the cure."""
    kind = KINDS.get(code)
    if kind is None:
        raise not_found("kind of problem")
    return {"code": kind.code, "status": kind.status, "title": kind.title, "cure": kind.cure}
