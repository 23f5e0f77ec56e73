"""What all processes share towards Zoom: tokens, budgets, breakers, each over a real PostgreSQL (ZC37, ZC40, ZC41, ZC47)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from pydantic import SecretStr

from reconciler.gateway.alerts import Alerts
from reconciler.gateway.breaker import Breakers
from reconciler.gateway.budgets import Budgets
from reconciler.gateway.tokens import SharedTokens
from runtime.cipher import Cipher, new_key
from runtime.postgres import AsyncDatabase
from runtime.queries import queries
from runtime.settings import Settings, ZoomSettings
from schemas.errors import Misconfigured, Unavailable
from schemas.ids import AccountId
from schemas.records.meeting_commands import CreateMeeting
from simulator.faults import Kind
from tests.command_plane import START, Plane, command_plane
from tests.meeting_commands import Caller
from tests.simulated_zoom import ACCOUNT, HOST
from tests.waiting import eventually
from tests.zoom_calls import app_of, calls, order
from zoom.client.client import CANCELLED, Call, Reply
from zoom.client.decisions import NO_CODE, Decision, Ruling, rule_on
from zoom.client.endpoints import CREATE, GET, LIST
from zoom.client.limits import Scope
from zoom.client.tokens import Token, TokenCall
from zoom.client.transport import Answer

KEY = new_key()


@pytest.fixture
def plane(settings: Settings) -> Iterator[Plane]:
    """A command plane of the test's own."""
    with command_plane(settings) as made:
        yield made


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[AsyncDatabase]:
    """A pool of the test's own database."""
    async with AsyncDatabase(settings.postgres, role="gateway") as opened:
        yield opened


async def keepers(
    plane: Plane, stack: AsyncExitStack, count: int, *, keys: tuple[str, ...] = (KEY,)
) -> list[SharedTokens]:
    """Token keepers of so many processes: pools, clients and memories of their own."""
    made = []
    for number in range(count):
        pool = await stack.enter_async_context(AsyncDatabase(plane.settings.postgres, role=f"process-{number}"))
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
        made.append(
            SharedTokens(
                pool,
                call=TokenCall(http, clock=plane.clock, timeout_seconds=1.0),
                cipher=Cipher([SecretStr(key) for key in keys]),
                alerts=Alerts(pool, clock=plane.clock),
                clock=plane.clock,
            )
        )
    return made


async def test_one_renewal_for_all_processes(plane: Plane) -> None:
    """ZC41: twenty tasks in three processes need a token at once, and Zoom is asked for one."""
    plane.zoom.service.tokens.one_at_a_time = True
    async with AsyncExitStack() as stack:
        processes = await keepers(plane, stack, 3)
        app = app_of(plane.zoom)
        first = await asyncio.gather(*(processes[n % 3].current(app) for n in range(20)))
        plane.clock.advance(hours=1)
        second = await asyncio.gather(*(processes[n % 3].current(app) for n in range(20)))
    assert [len({token.text for token in tokens}) for tokens in (first, second)] == [1, 1]
    assert plane.zoom.service.tokens.issued == 2


async def test_late_401_of_an_old_token_renews_nothing(plane: Plane) -> None:
    """ZC41 3: the newer token is there already."""
    async with AsyncExitStack() as stack:
        one, two = await keepers(plane, stack, 2)
        app = app_of(plane.zoom)
        old = await one.current(app)
        new = await one.renewed(app, dead=old)
        late = await two.renewed(app, dead=old)
        again = await one.renewed(app, dead=old)
    assert ({late.text, again.text}, plane.zoom.service.tokens.issued) == ({new.text}, 2)


async def test_holder_of_the_lock_that_dies_blocks_nobody(plane: Plane) -> None:
    """ZC41 4: the lock goes with its session."""
    async with AsyncExitStack() as stack:
        (keeper,) = await keepers(plane, stack, 1)
        holder = await stack.enter_async_context(AsyncDatabase(plane.settings.postgres, role="dying"))
        with suppress(Unavailable):
            async with holder.connection("hold the lock") as connection:
                await connection.execute(queries("reconciler")["lock_token"], {"account_id": ACCOUNT.account_id})
                waiting = asyncio.create_task(keeper.current(app_of(plane.zoom)))
                plane.connection.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
        token = await waiting
    assert token.text in plane.zoom.service.tokens.all()


async def test_token_call_that_hangs_releases_those_who_wait(plane: Plane) -> None:
    """ZC41 5: a renewal ends in time, and the others do not ask one after the other."""
    order(plane.zoom, Kind.HANG, "token", count=None, seconds=60)
    async with AsyncExitStack() as stack:
        processes = await keepers(plane, stack, 3)
        asked = (each.current(app_of(plane.zoom)) for each in processes * 3)
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Unavailable}
    assert sum(plane.zoom.service.faults.struck.values()) == 2


async def test_failing_renewals_raise_an_alert_and_mend_themselves(plane: Plane) -> None:
    """ZC40 d: while there is no token an alert stands; nobody asks Zoom again at once; when it works, the alert ends."""
    order(plane.zoom, Kind.ERROR, "token", count=2, status=500)
    async with AsyncExitStack() as stack:
        one, two = await keepers(plane, stack, 2)
        app = app_of(plane.zoom)
        for keeper in (one, two, one):
            with pytest.raises(Unavailable):
                await keeper.current(app)
        standing = plane.rows("SELECT name, until_at FROM alerts")
        plane.clock.advance(seconds=6)
        await two.current(app)
    assert standing == [("zoom_token_unavailable", None)]
    assert plane.rows("SELECT count(*) FROM alerts WHERE until_at IS NULL") == [(0,)]
    assert calls(plane.zoom, "token") == {500: 2, 200: 1}


async def test_refused_credentials_are_not_tried_by_everybody(plane: Plane) -> None:
    """ZC40 d: a fault of configuration is told once a minute, not once a request."""
    async with AsyncExitStack() as stack:
        processes = await keepers(plane, stack, 2)
        for keeper in processes * 2:
            with pytest.raises(Misconfigured):
                await keeper.current(app_of(plane.zoom, client_secret="wrong"))
    assert (calls(plane.zoom, "token"), plane.rows("SELECT name FROM alerts")) == (
        {400: 1},
        [("zoom_credentials_refused",)],
    )


async def test_token_is_kept_encrypted_and_outlives_its_key(plane: Plane) -> None:
    """At rest nobody can read it; a process with a newer key and the old one still can, one with neither asks anew."""
    async with AsyncExitStack() as stack:
        (keeper,) = await keepers(plane, stack, 1)
        app = app_of(plane.zoom)
        token = await keeper.current(app)
        ((sealed,),) = plane.rows("SELECT sealed FROM zoom_tokens")
        (rotated,) = await keepers(plane, stack, 1, keys=(new_key(), KEY))
        kept = await rotated.current(app)
        (foreign,) = await keepers(plane, stack, 1, keys=(new_key(),))
        fresh = await foreign.current(app)
    assert token.text.encode() not in bytes(sealed)
    assert (kept.text, fresh.text != token.text, plane.zoom.service.tokens.issued) == (token.text, True, 2)


async def test_accounts_have_tokens_of_their_own(plane: Plane) -> None:
    """A token is its account's."""
    async with AsyncExitStack() as stack:
        (keeper,) = await keepers(plane, stack, 1)
        token = await keeper.current(app_of(plane.zoom))
        with pytest.raises(Misconfigured):
            await keeper.current(app_of(plane.zoom, account_id="another"))
    assert token.text
    assert plane.rows("SELECT account_id, sealed IS NULL FROM zoom_tokens ORDER BY account_id") == [
        (ACCOUNT.account_id, False),
        ("another", True),
    ]


def budgets(plane: Plane, database: AsyncDatabase, *, plan: str = "pro", **settings: float) -> Budgets:
    """The budgets of one process."""
    chosen = ZoomSettings.model_validate(settings)
    return Budgets(database, plans={ACCOUNT.account_id: plan}, settings=chosen, clock=plane.clock)


def create(host: str = HOST, account_id: str = ACCOUNT.account_id) -> Call:
    """A create under a host."""
    return Call(endpoint=CREATE, account_id=account_id, host=host, body={})


async def test_hosts_hundred_a_day(plane: Plane, database: AsyncDatabase) -> None:
    """Creates and updates of one host end at its budget, others' go on, and midnight UTC brings it back."""
    one, two = (budgets(plane, database, host_daily=3, rate_share=1.0) for _ in range(2))
    for gate in (one, two, one):
        assert await gate.enter(create()) is None
    stopped = await two.enter(create())
    other = await two.enter(create("host-02@example.com"))
    read = await two.enter(Call(endpoint=GET, account_id=ACCOUNT.account_id, host=HOST, meeting="1"))
    plane.clock.advance(hours=9, minutes=2)
    tomorrow = await one.enter(create())
    assert stopped is not None
    assert stopped.not_before is not None
    assert (stopped.ruling.decision, stopped.scope, stopped.not_before.isoformat()) == (
        "park",
        "host",
        "2026-12-02T00:00:00+00:00",
    )
    assert (other, read, tomorrow) == (None, None, None)


async def test_call_that_waits_over_midnight_counts_on_the_new_day(plane: Plane, database: AsyncDatabase) -> None:
    """Zoom counts a call when it comes, so a turn that comes after midnight is paid for out of the new day's budget."""
    gate = budgets(plane, database, plan="free", rate_share=1.0)
    plane.clock.at = datetime(2026, 12, 1, 23, 59, 59, tzinfo=UTC)
    await gate.enter(create())
    waiting = asyncio.create_task(gate.enter(create()))
    await eventually(lambda: used(plane) == {"2026-12-01": 2}, what="reserved for today")
    plane.clock.advance(seconds=2)
    late = await waiting
    assert (late, used(plane)) == (None, {"2026-12-01": 1, "2026-12-02": 1})


def used(plane: Plane) -> dict[str, int]:
    """Creates and updates drawn on the hosts' budgets, by day."""
    return dict(plane.rows("SELECT day::text, used FROM daily_budgets WHERE scope = 'host'"))


async def test_call_that_never_left_costs_nothing(plane: Plane, database: AsyncDatabase) -> None:
    """A connection that never stood is not counted; a call that may have been made is."""
    gate = budgets(plane, database, host_daily=1, rate_share=1.0)
    await gate.enter(create())
    await gate.leave(create(), Reply(ruling=Ruling(decision=Decision.RETRY, reason="unreachable")))
    assert await gate.enter(create()) is None
    await gate.leave(create(), Reply(ruling=Ruling(decision=Decision.UNKNOWN, reason="no_answer"), sent=True))
    assert await gate.enter(create()) is not None


async def test_zoom_is_believed(plane: Plane, database: AsyncDatabase) -> None:
    """When Zoom says that a host's day is used up, it is, whoever used it."""
    one, two = (budgets(plane, database, rate_share=1.0) for _ in range(2))
    await one.enter(create())
    refusal = Ruling(decision=Decision.PARK, reason="daily_limit")
    await one.leave(create(), Reply(ruling=refusal, answer=answer(429), scope=Scope.HOST))
    stopped = await two.enter(create())
    assert (stopped is not None, await two.enter(create("host-02@example.com"))) == (True, None)


async def test_calls_of_a_label_take_turns(plane: Plane, database: AsyncDatabase) -> None:
    """Slots are spaced by the plan's rate, over all processes; labels and accounts have their own."""
    gates = [budgets(plane, database, plan="free", rate_wait_seconds=0.7) for _ in range(2)]
    light = [await gates[n % 2]._slot(create()) for n in range(4)]
    medium = await gates[0]._slot(Call(endpoint=LIST, account_id=ACCOUNT.account_id, host=HOST))
    other = await gates[0]._slot(create(account_id="another"))
    waits = [wait for wait in light if wait is not None]
    assert (light[-1], len(waits), medium, other) == (None, 3, 0.0, 0.0)
    assert waits == sorted(waits)


async def test_daily_limit_of_the_plan(plane: Plane, database: AsyncDatabase) -> None:
    """An account that has used its day is parked as a whole."""
    gate = budgets(plane, database, plan="free", rate_share=1.0)
    plane.connection.execute(
        "INSERT INTO daily_budgets VALUES (%s, 'label', 'medium', %s, 2000)",
        (ACCOUNT.account_id, plane.clock.now().date()),
    )
    stopped = await gate.enter(Call(endpoint=LIST, account_id=ACCOUNT.account_id, host=HOST))
    assert stopped is not None
    assert (stopped.ruling.decision, stopped.scope) == ("park", "account")


def answer(status: int) -> Answer:
    """An answer of that status."""
    return Answer(
        status=status,
        document=None,
        code=NO_CODE if status >= 500 else status,
        message="",
        headers={},
        sent_at=datetime(2026, 12, 1, tzinfo=UTC),
        elapsed_seconds=0.1,
    )


def reply(status: int) -> Reply:
    """What the client makes of an answer of that status to a GET."""
    given = answer(status)
    ruling = rule_on(GET, status=status, code=given.code, message="", readable=True)
    return Reply(ruling=ruling, answer=given)


TIMEOUT = Reply(ruling=Ruling(decision=Decision.RETRY, reason="no_answer"), sent=True)
LOOK = Call(endpoint=GET, account_id=ACCOUNT.account_id, meeting="1")


def breakers(plane: Plane, database: AsyncDatabase) -> Breakers:
    """The breakers of one process."""
    alerts = Alerts(database, clock=plane.clock)
    return Breakers(database, settings=ZoomSettings(), alerts=alerts, clock=plane.clock)


async def through(gate: Breakers, *outcomes: Reply) -> None:
    """Calls that end so, one after the other."""
    for outcome in outcomes:
        assert await gate.enter(LOOK) is None
        await gate.leave(LOOK, outcome)


def state(plane: Plane) -> str:
    """State of the account's breaker."""
    return str(dict(plane.rows("SELECT account_id, state FROM zoom_breakers")).get(ACCOUNT.account_id, "closed"))


def pause_is_over(plane: Plane) -> None:
    """The pause of the breaker ends now, by the database's clock."""
    plane.connection.execute("UPDATE zoom_breakers SET until_at = clock_timestamp()")


@pytest.mark.parametrize(
    ("statuses", "then"),
    [
        ((400, 400, 400, 400, 404, 404, 404, 429, 429, 429), "closed"),
        ((503, 503, 503, 503, 404, 503), "open"),
        ((503, 503, 503, 503, 200, 503), "closed"),
        ((503, 503, 503, 503), "closed"),
    ],
)
async def test_what_opens_the_breaker(
    plane: Plane, database: AsyncDatabase, statuses: tuple[int, ...], then: str
) -> None:
    """ZC47 a, b: a 4xx or 429 neither opens it nor hides failures; only a success does away with them."""
    await through(breakers(plane, database), *map(reply, statuses))
    assert state(plane) == then


async def opened(plane: Plane, database: AsyncDatabase) -> Breakers:
    """A breaker that has opened."""
    gate = breakers(plane, database)
    await through(gate, *(reply(503) for _ in range(5)))
    return gate


async def test_open_breaker_lets_nobody_through(plane: Plane, database: AsyncDatabase) -> None:
    """Calls of all processes wait for the end of the pause, and an alert stands."""
    await opened(plane, database)
    stopped = await breakers(plane, database).enter(LOOK)
    other = await breakers(plane, database).enter(Call(endpoint=GET, account_id="another", meeting="1"))
    assert stopped is not None
    assert stopped.not_before is not None
    assert (stopped.ruling.reason, other) == ("breaker_open", None)
    assert timedelta(seconds=1) <= stopped.not_before - plane.clock.now() <= timedelta(seconds=15)
    assert plane.rows("SELECT name FROM alerts WHERE until_at IS NULL") == [("zoom_breaker_open",)]


@pytest.mark.parametrize("status", [404, 200, 429])
async def test_one_probe_closes_it(plane: Plane, database: AsyncDatabase, status: int) -> None:
    """ZC47 c: after the pause one of twenty calls goes through, and whatever Zoom answers closes the breaker."""
    await opened(plane, database)
    pause_is_over(plane)
    gates = [breakers(plane, database) for _ in range(20)]
    answers = await asyncio.gather(*(gate.enter(LOOK) for gate in gates))
    probe = gates[answers.index(None)]
    await probe.leave(LOOK, reply(status))
    assert (answers.count(None), state(plane)) == (1, "closed")
    assert plane.rows("SELECT count(*) FROM alerts WHERE until_at IS NULL") == [(0,)]


async def test_others_look_again_soon_while_one_call_tries(plane: Plane, database: AsyncDatabase) -> None:
    """They wait for its answer, not for as long as it may take at most."""
    await opened(plane, database)
    pause_is_over(plane)
    probe, other = breakers(plane, database), breakers(plane, database)
    assert await probe.enter(LOOK) is None
    stopped = await other.enter(LOOK)
    assert stopped is not None
    assert stopped.not_before == plane.clock.now() + timedelta(seconds=1)


async def test_probe_that_fails_opens_it_again(plane: Plane, database: AsyncDatabase) -> None:
    """ZC47 d: with the place free for the next."""
    await opened(plane, database)
    pause_is_over(plane)
    await through(breakers(plane, database), TIMEOUT)
    stopped = await breakers(plane, database).enter(LOOK)
    pause_is_over(plane)
    again = await breakers(plane, database).enter(LOOK)
    assert (state(plane), stopped is not None, again) == ("half_open", True, None)


async def test_probe_that_is_given_up_frees_the_place(plane: Plane, database: AsyncDatabase) -> None:
    """ZC47 e: also when the task is cancelled, or another gate stopped it."""
    await opened(plane, database)
    pause_is_over(plane)
    await through(breakers(plane, database), CANCELLED)
    await through(breakers(plane, database), Reply(ruling=Ruling(decision=Decision.PARK, reason="host_budget_used_up")))
    assert await breakers(plane, database).enter(LOOK) is None


async def test_clock_that_jumps_does_not_shorten_or_lengthen_the_pause(plane: Plane, database: AsyncDatabase) -> None:
    """ZC47 f: the pause is measured by the database's clock."""
    gate = await opened(plane, database)
    plane.clock.advance(hours=-1)
    early = await gate.enter(LOOK)
    plane.clock.advance(hours=2)
    late = await gate.enter(LOOK)
    pause_is_over(plane)
    assert (early is not None, late is not None, await gate.enter(LOOK)) == (True, True, None)


async def test_daily_limit_parks_that_host_only(plane: Plane) -> None:
    """ZC37: the host's requests wait for midnight without calls or attempts; another host's and its own deletes go on."""
    plane.create()
    async with plane.worker(gated=True) as worker:
        await worker.drain()
        plane.deliver()
        plane.put(plane.caller.change(topic="Other"))
        order(plane.zoom, Kind.TOO_MANY, "create", "update", count=None, host=HOST, limit="host_daily")
        await worker.drain()
        during = calls(plane.zoom, "update")
        attempts = plane.rows("SELECT attempts, started_at, outcome FROM room_requests")
        plane.put(*(_other(plane, host) for host in (HOST, "host-02@example.com")))
        await worker.drain()
        plane.deliver()
        served = sorted(room.host.email for room in plane.rooms())
        plane.zoom.service.faults.clear()
        plane.clock.advance(hours=9, minutes=2)
        await worker.drain()
        plane.deliver()
    assert (during, attempts) == ({429: 1}, [(0, None, "retry")])
    assert served == [HOST, "host-02@example.com"]
    assert (plane.requests(), plane.rooms()[0].details.topic, len(plane.rooms())) == ([], "Other", 3)
    assert state(plane) == "closed"


def _other(plane: Plane, host: str) -> CreateMeeting:
    return Caller(key=f"for {host}", account=AccountId(ACCOUNT.account_id)).create(host=host, start_time=START)


async def test_zoom_that_is_down_costs_few_calls(plane: Plane) -> None:
    """The breaker opens after five failures, nothing is lost, and one call finds out when Zoom is back."""
    for number in range(20):
        caller = Caller(key=f"down-{number}", account=AccountId(ACCOUNT.account_id))
        plane.put(caller.create(start_time=START, host=f"host-0{number % 5 + 1}@example.com"))
    order(plane.zoom, Kind.ERROR, "create", "list", "get", count=None, status=503, body="")
    async with plane.worker(gated=True) as worker:
        await worker.run_once()
        down = sum(calls(plane.zoom, "create").values())
        plane.zoom.service.faults.clear()
        for _ in range(40):
            plane.clock.advance(seconds=30)
            pause_is_over(plane)
            await worker.drain()
            plane.deliver()
    assert (5 <= down <= 5 + 8, plane.requests(), len(plane.rooms())) == (True, [], 20)


def test_tokens_do_not_show_themselves(plane: Plane) -> None:
    """A token or an app in a log or a traceback shows no secret."""
    shown = repr((Token(text="eyJsecret", expires_at=plane.clock.now()), app_of(plane.zoom)))
    assert ("eyJsecret" in shown, ACCOUNT.client_secret in shown) == (False, False)
