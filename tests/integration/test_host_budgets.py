"""One host, two names: creates by e-mail address and by id draw on one budget of the day."""

from __future__ import annotations

from reconciler.gateway.budgets import Budgets
from reconciler.gateway.hosts import Hosts
from runtime.postgres import AsyncDatabase
from runtime.settings import ZoomSettings
from tests.command_plane import Plane
from tests.simulated_zoom import ACCOUNT, HOST
from tests.zoom_calls import calls, zoom_client
from zoom.client.client import Call
from zoom.client.decisions import Decision
from zoom.client.endpoints import CREATE

BODY = {"topic": "Planning call", "type": 2, "start_time": "2027-03-20T09:00:00Z", "duration": 30}


async def test_one_host_has_one_budget_under_all_its_names(plane: Plane) -> None:
    """Zoom's answers tell that id and address are one: after three creates by turns, both are at their limit of three."""
    host_id = plane.zoom.service.world.accounts[ACCOUNT.account_id].hosts[HOST].host_id
    async with AsyncDatabase(plane.settings.postgres, role="test") as database:
        made: list[Decision] = []
        for said in (HOST, host_id, HOST, host_id, HOST):
            budgets = Budgets(
                database,
                plans={ACCOUNT.account_id: "pro"},
                settings=ZoomSettings(host_daily=3, rate_share=1.0),
                clock=plane.clock,
            )
            async with zoom_client(plane.zoom, plane.clock, gates=(Hosts(database), budgets)) as client:
                call = Call(endpoint=CREATE, account_id=ACCOUNT.account_id, host=said, body=BODY)
                made.append((await client.call(call)).ruling.decision)
    drawn = plane.rows("SELECT name, used FROM daily_budgets WHERE scope = 'host'")
    assert made == [Decision.DONE] * 3 + [Decision.PARK] * 2
    assert (drawn, calls(plane.zoom, "create")) == ([(host_id, 3)], {201: 3})
