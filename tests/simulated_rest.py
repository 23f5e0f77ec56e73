"""Calls of the simulated Zoom's REST API, as tests make them, and a second account."""

from __future__ import annotations

from typing import Any

import httpx

from simulator.config import AccountConfig, Plan
from tests.samples import rest
from tests.simulated_zoom import HOST

MEETINGS = f"/v2/users/{HOST}/meetings"


OTHER = AccountConfig(
    account_id="Acct0ExampleNeutral002",
    client_id="Client0ExampleNeutral2",
    client_secret="another-client-secret",
    webhook_secret="another-secret-token",
    plan=Plan.FREE,
)


def create(client: httpx.Client, **body: Any) -> dict[str, Any]:
    """A new room."""
    answer = client.post(MEETINGS, json={**rest("meeting_create.request"), **body})
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


def outcome(answer: httpx.Response) -> tuple[int, int]:
    """Status and code of a refusal."""
    return answer.status_code, answer.json()["code"]
