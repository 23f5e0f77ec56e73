"""`/v1/status`, `/health`, `/metrics` and the pages of problems."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from ingress.api.access import CallerIs, ServicesAre
from ingress.api.answers import PROBLEMS
from ingress.problems import KINDS, TYPE_PREFIX, not_found
from ingress.reading import Row

FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
"""An operator's pause ends in that year."""


class AlertShape(BaseModel):
    """Something that is wrong at the moment."""

    name: str
    since_at: str
    message: str


class PauseShape(BaseModel):
    """What is not called for a while; requests wait, and nothing is lost."""

    scope: str = Field(description="`account`, `creates`, or the creates and updates of one `host`.")
    host: str | None
    since_at: datetime
    until_at: datetime | None = Field(description="Null until an operator resumes it.")
    reason: str


class QueueShape(BaseModel):
    """The account's room work that is not done."""

    depth: int = Field(description="Requests that are not finished.")
    due: int = Field(description="Those of them that could be worked on now.")
    oldest_seconds: float = Field(description="Age of the oldest; 0 when there is none.")
    next_attempt_at: datetime | None


class StatusShape(BaseModel):
    """Whether Roomkeeper does its work for the account."""

    status: Literal["ok", "degraded"]
    reasons: list[str] = Field(description="Why it is degraded, a word each.", examples=[["breaker_open"]])
    breaker: Literal["closed", "open", "half_open"] = Field(description="Whether Zoom is called.")
    queue: QueueShape
    pauses: list[PauseShape]
    alerts: list[AlertShape]


class HealthShape(BaseModel):
    """Whether this process does its work."""

    status: Literal["ok", "unavailable"]
    faults: list[str]


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter()
    routes.get(
        "/v1/status",
        response_model=StatusShape,
        responses={code: PROBLEMS[code] for code in (401, 503)},
        tags=["status"],
        summary="Is anything wrong?",
    )(status)
    routes.get("/health/live", response_model=HealthShape, tags=["health"], summary="Does the process run?")(live)
    routes.get(
        "/health/ready",
        response_model=HealthShape,
        responses={503: {"model": HealthShape, "description": "It cannot, for these reasons."}},
        tags=["health"],
        summary="Can it do its work?",
    )(ready)
    routes.get("/metrics", tags=["health"], include_in_schema=False)(metrics)
    routes.get(TYPE_PREFIX + "{code}", include_in_schema=False)(problem)
    return routes


async def status(caller: CallerIs, services: ServicesAre) -> StatusShape:
    """`degraded` while Zoom fails, is not called, or an alert stands.

    Requests are taken all the same: the answer is 202, and they are done when that is possible again.
    """
    account_id, now = caller.account_id, services.clock.now()
    reader = services.reader
    alerts, queue = await reader.alerts(account_id), await reader.queue(account_id, at=now)
    breaker, pauses = await reader.breaker(account_id), await reader.pauses(account_id, at=now)
    reasons = [str(alert["name"]) for alert in alerts]
    reasons += [f"breaker_{breaker}"] if breaker != "closed" else []
    reasons += ["provider_unavailable"] if queue["without_provider"] else []
    reasons += [f"{pause['scope']}_paused" for pause in pauses if pause["scope"] != "host"]
    oldest_at = queue["oldest_at"]
    return StatusShape(
        status="degraded" if reasons else "ok",
        reasons=reasons,
        breaker=breaker,
        queue=QueueShape(
            depth=queue["depth"],
            due=queue["due"],
            oldest_seconds=max(0.0, (now - oldest_at).total_seconds()) if oldest_at else 0.0,
            next_attempt_at=queue["next_attempt_at"],
        ),
        pauses=[_pause(row) for row in pauses],
        alerts=[
            AlertShape(name=row["name"], since_at=row["since_at"].isoformat(), message=row["message"]) for row in alerts
        ],
    )


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


def _pause(row: Row) -> PauseShape:
    ends = row["until_at"].year < FOREVER.year
    return PauseShape(
        scope=row["scope"],
        host=row["host"] or None,
        since_at=row["since_at"],
        until_at=row["until_at"] if ends else None,
        reason=row["reason"],
    )
