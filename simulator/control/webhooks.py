"""Orders about webhooks: bytes of any kind, the URL challenge, and the log of deliveries."""

from __future__ import annotations

import hmac
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query

from simulator.control.orders import RawWebhook
from simulator.delivery_log import Attempt
from simulator.poster import PostFailed
from simulator.service import Service
from simulator.signature import encrypted_token
from simulator.wire import Json, encode, millis


def router(service: Service) -> APIRouter:
    """The routes under `/webhooks`."""
    routes = APIRouter(tags=["webhooks"])

    @routes.post("/webhooks/raw", status_code=202)
    async def raw(order: RawWebhook) -> Json:
        """Sends a body as a webhook, under Zoom's retry rules."""
        account = service.world.accounts[order.account_id]
        body = order.body.encode()
        delivery = service.deliveries.send(account, event=order.event, body=body, secret=order.secret)
        return {"request_id": delivery.request_id}

    @routes.post("/webhooks/challenge")
    async def challenge(account_id: str) -> Json:
        """Challenges the account's endpoint as Zoom does every 72 hours; says whether it answered right."""
        account = service.world.accounts[account_id]
        plain = service.world.ids.opaque()
        body = {"payload": {"plainToken": plain}, "event_ts": millis(service.clock.now())}
        try:
            answer = await service.deliveries.post_once(account, encode({**body, "event": "endpoint.url_validation"}))
        except PostFailed as failure:
            return {"valid": False, "status": -1, "reason": failure.reason}
        expected = {"plainToken": plain, "encryptedToken": encrypted_token(account.webhook_secret, plain)}
        return {"valid": answer.status == 200 and _matches(answer.body, expected), "status": answer.status}

    @routes.get("/webhooks/deliveries")
    async def deliveries(
        account_id: str | None = None, zoom_id: str | None = None, limit: Annotated[int, Query(ge=1, le=5_000)] = 200
    ) -> list[Json]:
        """The newest attempts."""
        found = service.deliveries.log.newest(account_id, now=service.clock.now())
        chosen = (attempt for attempt in found if zoom_id in (None, attempt.zoom_id))
        return [_attempt(attempt) for attempt, _ in zip(chosen, range(limit), strict=False)]

    return routes


def _matches(body: bytes, expected: dict[str, str]) -> bool:
    try:
        answered: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(answered, dict) and hmac.compare_digest(encode(answered), encode(expected))


def _attempt(attempt: Attempt) -> Json:
    return {
        "event": attempt.event,
        "zoom_id": attempt.zoom_id,
        "request_id": attempt.request_id,
        "retry_num": attempt.retry_num,
        "at": attempt.at,
        "status": attempt.status,
        "reason": attempt.reason,
        "body": attempt.body.decode(errors="replace"),
    }
