"""What was counted, what was true, which secrets were given out, and whether all webhooks have arrived."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import orjson
from fastapi import APIRouter, Query
from fastapi.responses import Response

from simulator import truth
from simulator.service import Service
from simulator.wire import Json

_MOST_WAIT_SECONDS = 120


def router(service: Service) -> APIRouter:
    """The routes `/health`, `/stats`, `/truth`, `/secrets` and `/settled`."""
    routes = APIRouter(tags=["reports"])

    @routes.get("/health")
    async def health() -> Json:
        """The simulator answers."""
        return {"status": "ok", "speed": service.config.speed, "seed": service.config.seed}

    @routes.get("/stats")
    async def stats() -> Response:
        """Counts of everything."""
        return _json(_stats(service))

    @routes.get("/truth")
    async def all_truth(account_id: str | None = None) -> Response:
        """What was true of every room."""
        now = service.clock.now()
        rooms = [room for room in service.world.rooms.values() if account_id in (None, room.account.account_id)]
        return _json({"as_of": now, "rooms": [asdict(truth.of_room(room, as_of=now)) for room in rooms]})

    @routes.get("/truth/{number}")
    async def one_truth(number: int) -> Response:
        """What was true of one room."""
        return _json(asdict(truth.of_room(service.world.rooms[number], as_of=service.clock.now())))

    @routes.get("/secrets")
    async def secrets() -> Json:
        """Every secret that was ever given out, so that a test can look for leaks."""
        rooms = service.world.rooms.values()
        links = [room.secrets["start_url"] for room in rooms]
        return {
            "start_urls": links,
            "start_keys": [link.partition("zak=")[2] for link in links],
            "tokens": service.tokens.all(),
            "webhook_secrets": [account.webhook_secret for account in service.world.accounts.values()],
            "client_secrets": [account.client_secret for account in service.world.accounts.values()],
        }

    @routes.get("/settled")
    async def settled(wait: Annotated[float, Query(ge=0, le=_MOST_WAIT_SECONDS)] = 0.0) -> Json:
        """Whether no webhook is on its way, retries included; waits up to `wait` seconds for it."""
        return {"settled": await service.deliveries.settled(wait), "pending": service.deliveries.pending}

    return routes


def _stats(service: Service) -> Json:
    calls: dict[str, dict[str, int]] = {}
    for (endpoint, status), count in sorted(service.calls.items()):
        calls.setdefault(endpoint, {})[str(status)] = count
    hosts: dict[str, dict[str, int]] = {}
    for (host, endpoint), count in sorted(service.host_calls.items()):
        hosts.setdefault(host, {})[endpoint] = count
    budget = service.rates.host_calls()
    world = service.world
    return {
        "calls": calls,
        "calls_by_host": hosts,
        "host_budget": {
            host.email: budget[host.host_id]
            for account in world.accounts.values()
            for host in account.hosts.values()
            if host.host_id in budget
        },
        "host_budget_peak": max(service.rates.host_peaks().values(), default=0),
        "rooms_made": world.rooms_made,
        "rooms_existing": sum(room.exists for room in world.rooms.values()),
        "rooms_live": sum(room.live is not None for room in world.rooms.values()),
        "tokens_issued": service.tokens.issued,
        "webhooks": dict(service.deliveries.counts) | {"pending": service.deliveries.pending},
        "webhooks_by_event": dict(service.deliveries.by_event),
        "faults_struck": dict(service.faults.struck),
    }


def _json(content: object) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")
