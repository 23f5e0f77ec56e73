"""Orders about faults, rates and tokens."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from simulator.control.orders import FaultOrder, LagOrder, RateOrder, TokenOrder
from simulator.service import Service
from simulator.wire import Json


def router(service: Service) -> APIRouter:
    """The routes under `/faults`, `/rates`, `/lags` and `/tokens`."""
    routes = APIRouter(tags=["faults"])

    @routes.post("/faults", status_code=201)
    async def order(order: FaultOrder) -> Json:
        """Puts a fault in force."""
        return asdict(service.faults.order(order.fault()))

    @routes.get("/faults")
    async def listing() -> list[Json]:
        """Every fault in force."""
        return [asdict(fault) for fault in service.faults.all()]

    @routes.delete("/faults")
    async def clear() -> Json:
        """Lifts all faults."""
        return {"cleared": service.faults.clear()}

    @routes.delete("/faults/{fault_id}")
    async def clear_one(fault_id: int) -> Json:
        """Lifts one fault."""
        return {"cleared": service.faults.clear(fault_id)}

    @routes.put("/rates")
    async def rates(order: RateOrder) -> Json:
        """Turns rate limits on or off; calls are counted in any case."""
        service.rates.enforced = order.enforced
        return {"enforced": service.rates.enforced}

    @routes.put("/lags")
    async def lags(order: LagOrder) -> Json:
        """Runs are among the past meetings only so long after their end."""
        service.past_lag_seconds = order.past_seconds
        return order.model_dump()

    @routes.put("/tokens")
    async def tokens(order: TokenOrder) -> Json:
        """How tokens behave: lifetime, scopes, whether a new one kills the old."""
        for name, value in order.model_dump(exclude_none=True).items():
            setattr(service.tokens, name, value)
        return order.model_dump()

    @routes.delete("/tokens")
    async def kill_tokens(account_id: str) -> Json:
        """Kills an account's tokens now."""
        return {"killed": service.tokens.kill(service.world.accounts[account_id])}

    return routes
