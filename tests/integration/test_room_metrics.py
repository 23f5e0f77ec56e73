"""What the room worker shows at /metrics: claims, outcomes, calls, tokens, queue, budgets, breaker, alerts."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from reconciler.gateway.alerts import BREAKER_OPEN
from reconciler.rooms.service import room_service
from runtime.metrics.catalogue.rooms import ROOMS_CLAIMED, ROOMS_OUTCOMES, ROOMS_QUEUE
from runtime.metrics.catalogue.shared import ALERTS
from runtime.metrics.catalogue.zoom import ZOOM_BREAKER, ZOOM_BUDGET_LEFT, ZOOM_CALLS, ZOOM_TOKEN_RENEWALS
from runtime.metrics.registry import Metrics
from runtime.metrics.server import serving
from runtime.settings import MetricsSettings, Settings
from simulator.faults import Kind
from tests.command_plane import Plane, command_plane
from tests.ingress import prepared
from tests.simulated_zoom import ACCOUNT
from tests.zoom_calls import gateway_account, order


@pytest.fixture
def plane(settings: Settings) -> Iterator[Plane]:
    """A command plane whose account has a gateway to the simulator in the settings."""
    with command_plane(settings) as made:
        account = gateway_account(made.zoom.address, plan="free")
        made.settings = prepared(settings, account)
        yield made


async def test_room_worker_shows_its_work_and_what_all_share(plane: Plane) -> None:
    """One room is made and one create is refused; what waits, what is left of the day and what is wrong are gauges."""
    plane.create()
    plane.connection.execute(
        "INSERT INTO alerts (name, account_id, since_at, message) VALUES (%s, %s, now(), 'x')",
        (BREAKER_OPEN, ACCOUNT.account_id),
    )
    plane.connection.execute("INSERT INTO zoom_breakers VALUES (%s, 'closed', 0, now())", (ACCOUNT.account_id,))
    metrics = Metrics()
    async with room_service(plane.settings, clock=plane.clock, metrics=metrics) as service:
        await service.worker.run_once()
        order(plane.zoom, Kind.ERROR, "create", status=400, code=3000, message="No.")
        plane.caller.key = "cmd-0002"
        plane.create()
        await service.worker.run_once()
        plane.caller.key = "cmd-0003"
        plane.create()
        plane.connection.execute("UPDATE zoom_breakers SET state = 'open'")
        await service.chores["gauges"].run_once()
    account = ACCOUNT.account_id
    counted = {
        "claimed": metrics.value(ROOMS_CLAIMED, action="create"),
        "done": metrics.value(ROOMS_OUTCOMES, action="create", outcome="done"),
        "failed": metrics.value(ROOMS_OUTCOMES, action="create", outcome="failed"),
        "calls": metrics.value(ZOOM_CALLS, endpoint="create", outcome="done"),
        "refused": metrics.value(ZOOM_CALLS, endpoint="create", outcome="400"),
        "tokens": metrics.value(ZOOM_TOKEN_RENEWALS, account=account, outcome="renewed"),
        "due": metrics.value(ROOMS_QUEUE, account=account, state="due"),
        "breaker": metrics.value(ZOOM_BREAKER, account=account),
        "host": metrics.value(ZOOM_BUDGET_LEFT, account=account, scope="host"),
        "alert": metrics.value(ALERTS, account=account, alert=BREAKER_OPEN),
    }
    with serving(metrics, MetricsSettings(port=0)) as port:
        async with httpx.AsyncClient() as http:
            shown = (await http.get(f"http://127.0.0.1:{port}/metrics")).text
    assert counted == {
        "claimed": 2,
        "done": 1,
        "failed": 1,
        "calls": 1,
        "refused": 1,
        "tokens": 1,
        "due": 1,
        "breaker": 1,
        "host": 98,
        "alert": 1,
    }
    assert 'roomkeeper_zoom_call_seconds_count{endpoint="create"} 2.0' in shown
    assert 'roomkeeper_rooms_work_seconds_count{action="create"} 2.0' in shown
    assert f'roomkeeper_rooms_queue_age_seconds{{account="{account}"}}' in shown
