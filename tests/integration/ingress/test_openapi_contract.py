"""Whatever the OpenAPI page allows, and much that it does not: answers are as the page says, and never a fault of ours.

Requests are drawn by schemathesis, the same ones each time, with ids of things that exist and of things that do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from projectors.meetings import MeetingsProjection
from projectors.projection import Consumed, Decoded
from projectors.rooms import RoomsProjection
from runtime.postgres import connect
from schemas.ids import AccountId
from tests.ingress import new_api_key
from tests.integration.ingress.conftest import Running
from tests.meeting_commands import Caller, Table
from tests.rooms import ACCOUNT, U1, M, Rooms, body, decoded, iso, person

EXAMPLES: Mapping[schemathesis.GenerationMode, int] = {
    schemathesis.GenerationMode.POSITIVE: 10,
    schemathesis.GenerationMode.NEGATIVE: 8,
}
"""Of each operation, within and beyond its page."""
DRAWN = {"generation": {"allow-extra-parameters": False, "with-security-parameters": False}}
"""Query parameters that nobody knows are passed over, and a key is always sent."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An account with something in it."""

    key: str
    ids: Mapping[str, str]
    """By name of the path's parameter."""


@pytest.fixture(scope="module")
def known(running: Running) -> Known:
    """A meeting with a room and a registrant, and a run of a room with one guest, projected."""
    table, caller = Table(), Caller(account=AccountId(ACCOUNT))
    events = [table.put(caller.create(settings={"approval_type": 0})), table.put(caller.add())]
    nowhere = Consumed(topic="meeting-events", partition=0, offset=0, timestamp_ms=0, key=None, value=None)
    guest = person("joined", 5, "1", uuid=U1, start=0, email="guest@example.com", user_name="G")
    told = [body("meeting.started", 0, uuid=U1, start_time=iso(0)), guest]
    with connect(running.settings.postgres, role="tests") as connection, connection.cursor() as cursor:
        MeetingsProjection().apply(cursor, [Decoded(record=event, consumed=nowhere) for event in events])
        RoomsProjection().apply(cursor, decoded(Rooms(told).outputs))
    ids = {
        "meeting_id": caller.meeting_id,
        "registrant_id": table.registrant(caller).registrant_key,
        "command_id": table.answers()[0].command_id,
        "zoom_id": M,
        "uuid": U1,
    }
    return Known(key=new_api_key(running.settings, ACCOUNT), ids=ids)


@pytest.mark.parametrize("mode", EXAMPLES, ids=lambda mode: mode.value)
def test_every_answer_is_as_the_openapi_page_says(
    running: Running, known: Known, mode: schemathesis.GenerationMode
) -> None:
    """No 5xx; statuses, media types and bodies are those of the page; what the page forbids is refused."""
    page = httpx.get(f"{running.url}/openapi.json").json()
    schema = schemathesis.openapi.from_dict(page, config=schemathesis.Config.from_dict(DRAWN))
    asked = set()
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        if mode is schemathesis.GenerationMode.NEGATIVE and not _takes_anything(operation):
            continue
        asked.add(operation.label)

        @settings(
            max_examples=EXAMPLES[mode],
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode), exists=st.booleans())
        def judge(case: schemathesis.Case[Any], exists: bool) -> None:
            if exists and case.path_parameters:
                case.path_parameters = {name: known.ids[name] for name in case.path_parameters}
            case.headers.pop("prefer", None)  # nobody decides here: it would wait in vain
            response = case.call(base_url=running.url, headers={"authorization": f"Bearer {known.key}"})
            case.validate_response(response, checks=CHECKS)

        judge()
    assert len(asked) >= 8


def _takes_anything(operation: schemathesis.APIOperation[Any, Any, Any, Any]) -> bool:
    """Whether there is anything that a request could do against the page; any text is a path's or a header's."""
    raw = operation.definition.raw
    return "requestBody" in raw or any(each["in"] == "query" for each in raw.get("parameters", ()))
