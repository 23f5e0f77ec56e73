"""One leader among any number of pollers, by a session of a real PostgreSQL."""

from __future__ import annotations

import pytest

from reconciler.poller.leader import LeadershipLost, open_leader
from runtime.postgres import connect
from runtime.settings import Settings
from tests.waiting import eventually


async def test_one_leads_and_the_next_follows_when_it_is_gone(settings: Settings) -> None:
    """A second candidate waits as long as the first one's session stands, and leads at once when it ends."""
    async with open_leader(settings.postgres, succession_seconds=30) as second:
        async with open_leader(settings.postgres, succession_seconds=30) as first:
            beside = [await first.try_to_lead(), await second.try_to_lead()]
            await first.permit()
        assert await eventually(second.try_to_lead, what="the second leads")
    assert beside == [True, False]


async def test_a_leader_without_its_session_gets_no_permit(settings: Settings) -> None:
    """When the database ends the session, the next call is not permitted."""
    async with open_leader(settings.postgres, succession_seconds=30) as leader:
        assert await leader.try_to_lead()
        await leader.permit()
        with connect(settings.postgres, role="test", autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'roomkeeper poller lead' AND datname = current_database()"
            )
        with pytest.raises(LeadershipLost):
            await leader.permit()


async def test_a_silent_leader_is_succeeded(settings: Settings) -> None:
    """A leader that gives no sign of life, as when it is paused, loses the lead, and notices before its next call."""
    async with (
        open_leader(settings.postgres, succession_seconds=1) as silent,
        open_leader(settings.postgres, succession_seconds=30) as next_one,
    ):
        assert await silent.try_to_lead()
        assert await eventually(next_one.try_to_lead, what="another leads")
        with pytest.raises(LeadershipLost):
            await silent.permit()
