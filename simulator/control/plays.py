"""Orders about scenarios in many rooms at once."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from simulator.control.orders import PlaysOrder
from simulator.service import Service
from simulator.wire import Json

_MOST_WAIT_SECONDS = 300


def router(service: Service) -> APIRouter:
    """The routes under `/plays`."""
    routes = APIRouter(prefix="/plays", tags=["meetings"])

    @routes.post("", status_code=202)
    async def play(order: PlaysOrder) -> Json:
        """A scenario begins in each of the rooms, or in all that exist."""
        world = service.world
        numbers = order.zoom_ids or [number for number, room in world.rooms.items() if room.exists]
        for number in numbers:
            service.player.play(world.rooms[number], order.scenario.scenario())
        return {"playing": len(numbers)}

    @routes.get("")
    async def progress(wait: Annotated[float, Query(ge=0, le=_MOST_WAIT_SECONDS)] = 0.0) -> Json:
        """How many plays are over, and what of them was refused; waits up to `wait` seconds for all to end."""
        try:
            async with asyncio.timeout(wait):
                for each in list(service.player.plays.values()):
                    await each.done.wait()
        except TimeoutError:
            pass
        plays = service.player.plays
        failed = {str(number): each.failed for number, each in plays.items() if each.failed}
        return {"plays": len(plays), "done": sum(each.done.is_set() for each in plays.values()), "failed": failed}

    return routes
