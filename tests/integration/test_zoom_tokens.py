"""One token for all processes, over a real PostgreSQL (ZC40)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress

import httpx
import pytest
from pydantic import SecretStr

from reconciler.gateway.alerts import Alerts
from reconciler.gateway.tokens import SharedTokens
from runtime.cipher import Cipher, new_key
from runtime.postgres import AsyncDatabase
from runtime.queries import queries
from schemas.errors import Misconfigured, Unavailable
from simulator.faults import Kind
from tests.command_plane import Plane
from tests.plain_http import NO_TLS
from tests.simulated_zoom import ACCOUNT
from tests.zoom_calls import app_of, calls, order
from zoom.client.tokens import Token, TokenCall

KEY = new_key()


async def keepers(
    plane: Plane, stack: AsyncExitStack, count: int, *, keys: tuple[str, ...] = (KEY,)
) -> list[SharedTokens]:
    """Token keepers of so many processes: pools, clients and memories of their own."""
    made = []
    for number in range(count):
        pool = await stack.enter_async_context(AsyncDatabase(plane.settings.postgres, role=f"process-{number}"))
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, verify=NO_TLS))
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


def test_tokens_do_not_show_themselves(plane: Plane) -> None:
    """A token or an app in a log or a traceback shows no secret."""
    shown = repr((Token(text="eyJsecret", expires_at=plane.clock.now()), app_of(plane.zoom)))
    assert ("eyJsecret" in shown, ACCOUNT.client_secret in shown) == (False, False)
