"""The ids of the room worker's reports: the same of the same, so that what is sent again is no second report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reconciler.rooms.queue import Request
from reconciler.rooms.reporting import LATE_REPORT, OUTCOME, Reporter
from reconciler.rooms.results import Concluded
from schemas.ids import AccountId, MeetingId, ProviderKey, ZoomId
from tests.command_plane import Sent
from tests.simulated_zoom import MOMENT, ManualClock

MEETING = MeetingId("6f0b2a4e-0c64-5f39-9d5c-2f8f2f5d3c11")
REQUEST = Request(
    account_id=AccountId("acc0000000000000000001"),
    meeting_id=MEETING,
    provider_key=ProviderKey(f"{MEETING}:create:1"),
    action="create",
    lane="",
    n=1,
    host="host-01@example.com",
    zoom_id=None,
    added_at=MOMENT,
    epoch=5,
    attempts=1,
    looks=0,
    started_at=None,
    unknown_at=None,
    retried=False,
)


async def reported(kind: str = OUTCOME, *, zoom_id: str = "91000000001", **request: Any) -> str:
    """The id of a report."""
    sent = Sent()
    reporter = Reporter(sent, worker="a", clock=ManualClock(), topic_prefix="")
    await reporter.conclude(replace(REQUEST, **request), Concluded(outcome="done", zoom_id=ZoomId(zoom_id)), kind=kind)
    (report,) = sent.outcomes()
    return report.command_id


async def test_id_of_an_outcome_says_kind_key_epoch_and_room() -> None:
    """Sent again it is the same command, and any of the four makes it another."""
    same = {await reported(), await reported()}
    others = {
        await reported(LATE_REPORT),
        await reported(provider_key=ProviderKey(f"{MEETING}:create:2")),
        await reported(epoch=6),
        await reported(zoom_id="91000000002"),
    }
    assert (len(same), len(others | same)) == (1, 5)
