"""The poller's share of an account's rates, over a real PostgreSQL: its calls leave the rest to the room worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from reconciler.gateway.budgets import PLANS, Budgets
from reconciler.poller.share import PATIENCE, SCOPE, Share
from runtime.postgres import AsyncDatabase, connect
from runtime.settings import Account, PollerSettings, Settings, ZoomSettings
from tests.simulated_zoom import ManualClock
from tests.waiting import eventually
from zoom.client.client import Call, Reply
from zoom.client.decisions import Decision, Ruling
from zoom.client.endpoints import GET, LIST, Label

FREE, BUSINESS = "acct-free", "acct-business"
SHARE = ZoomSettings().rate_share * PollerSettings().share


@pytest.fixture
def own(settings: Settings) -> Settings:
    """One account of each kind, the poller's share as it is by default."""
    accounts = (Account(account_id=FREE, plan="free"), Account(account_id=BUSINESS, plan="business"))
    return settings.model_copy(update={"accounts": accounts})


@pytest.fixture
async def database(own: Settings) -> AsyncIterator[AsyncDatabase]:
    """A pool of the test's own database."""
    async with AsyncDatabase(own.postgres, role="poller") as opened:
        yield opened


def used(own: Settings) -> dict[str, int]:
    """What pollers have drawn on their budgets of the day, by day."""
    with connect(own.postgres, role="test", autocommit=True) as connection:
        rows = connection.execute("SELECT day::text, used FROM daily_budgets WHERE scope = %s AND used > 0", (SCOPE,))
        return {row["day"]: row["used"] for row in rows}


def use(own: Settings, *, calls: int) -> None:
    """So many calls for lists were made on the manual clock's day."""
    with connect(own.postgres, role="test", autocommit=True) as connection:
        values = (FREE, SCOPE, Label.MEDIUM, ManualClock().now(), calls)
        connection.execute("INSERT INTO daily_budgets VALUES (%s, %s, %s, %s, %s)", values)


async def test_all_pollers_together_call_no_faster_than_their_share(own: Settings, database: AsyncDatabase) -> None:
    """Two processes that call as fast as they may: no more of one label in a second than the share of the plan's."""
    per_second = PLANS["business"].per_second[Label.LIGHT] * SHARE
    calls = 24
    async with AsyncDatabase(own.postgres, role="poller") as other:
        shares = [Share(each, settings=own, clock=ManualClock()) for each in (database, other)]
        began = time.monotonic()
        stopped = await asyncio.gather(
            *(shares[each % 2].enter(Call(endpoint=GET, account_id=BUSINESS, meeting="1")) for each in range(calls))
        )
        took_seconds = time.monotonic() - began
    assert stopped == [None] * calls
    assert took_seconds >= (calls - 1) / per_second - 0.05


async def test_day_has_a_share_and_the_rest_is_the_room_workers(own: Settings, database: AsyncDatabase) -> None:
    """On a plan with limits a day, the poller stops at its share until midnight; others go on."""
    clock = ManualClock()
    most = int(PLANS["free"].per_day[Label.MEDIUM] * SHARE)
    use(own, calls=most - 1)
    share = Share(database, settings=own, clock=clock)
    budgets = Budgets(database, plans={FREE: "free"}, settings=ZoomSettings(), clock=clock)
    call = Call(endpoint=LIST, account_id=FREE, host="host@example.com")
    last, stopped, others = await share.enter(call), await share.enter(call), await budgets.enter(call)
    assert last is None
    assert isinstance(stopped, Reply)
    assert (stopped.ruling.decision, stopped.ruling.reason) == (Decision.PARK, "poller_share_used_up")
    assert stopped.not_before == datetime(2026, 12, 2, tzinfo=UTC)
    assert others is None


async def test_call_that_is_not_sent_costs_nothing(own: Settings, database: AsyncDatabase) -> None:
    """Neither one whose turn is too far away, nor one that was let through and stopped elsewhere."""
    share = Share(database, settings=own, clock=ManualClock())
    call = Call(endpoint=GET, account_id=FREE, meeting="1")
    entered, before = await share.enter(call), used(own)
    with connect(own.postgres, role="test", autocommit=True) as connection:
        connection.execute("UPDATE rate_slots SET free_at = clock_timestamp() + %s", (PATIENCE + timedelta(seconds=9),))
    crowded = await share.enter(call)
    assert (entered, crowded and crowded.ruling) == (None, Ruling(decision=Decision.RETRY, reason="rate_budget"))
    assert (before, used(own)) == ({"2026-12-01": 1}, {"2026-12-01": 1})
    await share.leave(call, Reply(ruling=Ruling(decision=Decision.RETRY, reason="breaker_open")))
    assert used(own) == {}


async def test_call_that_waits_over_midnight_counts_on_the_new_day(own: Settings, database: AsyncDatabase) -> None:
    """It is reserved anew, for Zoom counts a call on the day on which it is sent."""
    clock = ManualClock(at=datetime(2026, 12, 1, 23, 59, 59, tzinfo=UTC))
    share = Share(database, settings=own, clock=clock)
    call = Call(endpoint=GET, account_id=FREE, meeting="1")
    await share.enter(call)
    waiting = asyncio.create_task(share.enter(call))
    await eventually(lambda: used(own) == {"2026-12-01": 2}, what="reserved for today")
    clock.advance(seconds=2)
    assert (await waiting, used(own)) == (None, {"2026-12-01": 1, "2026-12-02": 1})
