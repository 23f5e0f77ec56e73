"""The REST client against a simulated Zoom over HTTP: tokens, tries, unknown outcomes, secrets (ZC33, ZC40, ZC43)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from schemas.errors import Unavailable
from schemas.ids import ProviderKey
from simulator.faults import Kind
from tests.meeting_commands import details
from tests.simulated_zoom import HOST, ManualClock, SimulatedZoom, config, simulated_zoom
from tests.zoom_calls import app_of, calls, order, zoom_client
from zoom.client.client import Call, Reply, Tries
from zoom.client.decisions import Decision
from zoom.client.endpoints import CREATE, DELETE, GET, UPDATE
from zoom.client.lists import list_rooms
from zoom.client.rooms import key_of, number_of, room_body
from zoom.client.tokens import Token, api_base

KEY = ProviderKey("0b6f2d6e-0001-5000-8000-000000000000:create:1")


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands before the meetings."""
    return ManualClock()


@pytest.fixture
def zoom(clock: ManualClock) -> Iterator[SimulatedZoom]:
    """A simulated Zoom without limits."""
    with simulated_zoom(config(limits=False), clock) as running:
        yield running


def create(**other: Any) -> Call:
    """The create of a room."""
    wanted = details(start_time="2027-03-20T09:00:00", **other)
    body = room_body(wanted, key=KEY, tracking_field=None)
    return Call(endpoint=CREATE, account_id="Acct0ExampleNeutral001", host=HOST, body=body)


def about(endpoint: Any, meeting: str, **other: Any) -> Call:
    """A call about one room."""
    return Call(endpoint=endpoint, account_id="Acct0ExampleNeutral001", host=HOST, meeting=meeting, **other)


async def never() -> None:
    """A permit that is not given."""
    raise PermissionError


async def test_room_from_create_to_delete(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """A room is created, read, changed and deleted; a second delete finds it gone; one token serves all calls."""
    async with zoom_client(zoom, clock) as client:
        made = await client.call(create())
        number = number_of(made.document)
        read = await client.call(about(GET, number))
        changed = await client.call(about(UPDATE, number, body={"topic": "Other"}))
        again = await client.call(about(GET, number))
        deletes = [await client.call(about(DELETE, number)) for _ in range(2)]
    replies = [made, read, changed, again, *deletes]
    assert [reply.ruling.decision for reply in replies] == ["done", "done", "done", "done", "done", "gone"]
    assert (key_of(read.document), again.document["topic"], zoom.service.tokens.issued) == (KEY, "Other", 1)


async def test_secrets_end_in_the_client(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """ZC33: no start link, passcode or token is in what the client gives, also where an error echoes one."""
    async with zoom_client(zoom, clock) as client:
        made = await client.call(create())
        token = zoom.service.tokens.all()[0]
        order(zoom, Kind.ERROR, "get", status=400, code=300, message=f"bad header Authorization: Bearer {token}")
        refused = await client.call(about(GET, number_of(made.document)))
        shown = repr((made, refused, client._apps))
    secrets = zoom.control("GET", "/secrets")
    leaks = [secret for kind in secrets.values() for secret in kind if secret in shown]
    assert (leaks, "password" in shown, "join_url" in shown) == ([], False, True)


async def test_dead_token_is_renewed_once_and_the_call_repeated_once(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """ZC40 a: a token that dies in mid-flight costs one more token call, and one room is made."""
    async with zoom_client(zoom, clock) as client:
        await client.call(create())
        order(zoom, Kind.TOKEN_DEATH)
        made = await client.call(create())
    assert (made.ruling.decision, calls(zoom, "create"), zoom.service.tokens.issued) == ("done", {201: 2, 401: 1}, 2)


async def test_delete_that_found_nothing_after_its_token_died_is_done(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """ZC40 c: 401, then 404 of the same delete: the room is gone, which is what was wanted."""
    async with zoom_client(zoom, clock) as client:
        made = str((await client.call(create())).document["id"])
        await client.call(about(DELETE, made))
        order(zoom, Kind.ERROR, "delete", status=401, code=124, message="Invalid access token.")
        reply = await client.call(about(DELETE, made))
    assert (reply.ruling.decision, reply.code, calls(zoom, "delete")) == ("gone", "3001", {204: 1, 401: 1, 404: 1})


async def test_second_401_stops(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """ZC40 b: a new token that is refused too is an operator's matter, not a loop."""
    order(zoom, Kind.ERROR, count=None, status=401, code=124, message="Invalid access token.")
    async with zoom_client(zoom, clock) as client:
        reply = await client.call(create())
    assert (reply.ruling.decision, calls(zoom, "create")) == (Decision.ALERT, {401: 2})


async def test_missing_scope_does_not_loop(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """A missing scope asks for no token and is not tried again."""
    zoom.service.tokens.scopes = ("meeting:read:meeting:admin",)
    async with zoom_client(zoom, clock) as client:
        reply = await client.call(create())
    assert (reply.ruling.decision, reply.ruling.reason, zoom.service.tokens.issued) == ("alert", "missing_scope", 1)


@pytest.mark.parametrize(
    ("fault", "decision", "reason"),
    [
        ({"status": 500}, Decision.RETRY, "token_unavailable"),
        ({"status": 429}, Decision.RETRY, "token_unavailable"),
        ({"status": 400, "body": '{"reason":"Invalid client_id or client_secret","error":"invalid_client"}'},
         Decision.ALERT, "credentials_refused"),
        ({"status": 200, "body": "<html>login</html>"}, Decision.RETRY, "token_unavailable"),
    ],
)  # fmt: skip
async def test_no_token(
    zoom: SimulatedZoom, clock: ManualClock, fault: dict[str, Any], decision: Decision, reason: str
) -> None:
    """ZC40 d: without a token nothing is sent; trouble passes, refused credentials do not."""
    order(zoom, Kind.ERROR, "token", count=None, **fault)
    async with zoom_client(zoom, clock) as client:
        reply = await client.call(create())
    assert (reply.ruling.decision, reply.ruling.reason, reply.sent, calls(zoom, "create")) == (
        decision,
        reason,
        False,
        {},
    )


async def test_token_is_renewed_before_its_end(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """ZC40 e: a clock that is two minutes slow still renews in time."""
    async with zoom_client(zoom, clock) as client:
        await client.call(create())
        clock.advance(seconds=3600 - 170)
        await client.call(create())
    assert (calls(zoom, "create"), zoom.service.tokens.issued) == ({201: 2}, 2)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"status": 404, "code": 1001, "message": "User does not exist: host"}, "host_not_found"),
        ({"status": 400, "code": 1010, "message": "User not found on this account"}, "host_not_in_account"),
        ({"status": 400, "code": 1000, "message": "user still in pending state"}, "host_pending"),
        ({"status": 400, "body": '{"code":300,"message":"Validation Failed.","errors":[{"field":"settings.password",'
          '"message":"Invalid field."}]}'}, "invalid"),
        ({"status": 400, "content_type": "application/xml",
          "body": '<?xml version="1.0"?><result><code>300</code><message>Validation Failed.</message></result>'}, "invalid"),
        ({"status": 400, "code": 200, "message": "No permission."}, "no_permission_or_unpaid"),
    ],
)  # fmt: skip
async def test_hopeless_create_is_sent_once(
    zoom: SimulatedZoom, clock: ManualClock, body: dict[str, Any], reason: str
) -> None:
    """ZC43: what can never work is refused at once, with Zoom's code."""
    order(zoom, Kind.ERROR, count=None, **body)
    async with zoom_client(zoom, clock) as client:
        reply = await client.call(create())
    assert (reply.ruling.decision, reply.ruling.reason, sum(calls(zoom, "create").values())) == ("refuse", reason, 1)
    assert reply.code in {"1001", "1010", "1000", "300", "200"}


async def test_refusal_names_its_fields(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """Zoom's list of wrong fields is in the message."""
    call = create()
    async with zoom_client(zoom, clock) as client:
        reply = await client.call(Call(endpoint=CREATE, account_id=call.account_id, host=HOST, body={"duration": -1}))
    assert "duration" in reply.message


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 400, "body": '{"code":300,"message":"No\\u0000 topic."}'},
        {"status": 400, "body": "<result><code>300</code><message>No\0 topic.</message></result>"},
        {"status": 201, "body": '{"id":91000000001,"message":"No\\u0000 topic.","topic":"\\u0000"}'},
    ],
)
async def test_no_answer_holds_nul(zoom: SimulatedZoom, clock: ManualClock, fault: dict[str, Any]) -> None:
    """No text of the database can: an outcome with it would never be written, and the same call be made for ever."""
    order(zoom, Kind.ERROR, count=None, **fault)
    async with zoom_client(zoom, clock) as client:
        reply = await client.call(create())
    assert "\0" not in f"{reply.message} {reply.document}" + "".join(map(str, reply.document.values()))
    assert "No\ufffd topic." in (reply.message, reply.document.get("message"))


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (Kind.ERROR, {"status": 404, "body": "<html>not found</html>", "content_type": "text/html"}),
        (Kind.ERROR, {"status": 200, "body": "<html>login</html>", "content_type": "text/html"}),
        (Kind.ERROR, {"status": 201, "body": ""}),
        (Kind.ERROR, {"status": 500, "body": ""}),
        (Kind.ERROR, {"status": 502, "body": "<html>bad gateway</html>"}),
        (Kind.ERROR, {"status": 503, "body": ""}),
        (Kind.ERROR, {"status": 408, "body": ""}),
        (Kind.ERROR, {"status": 301, "body": "", "headers": {"location": "https://example.com/"}}),
        (Kind.ERROR, {"status": 504, "acts": True}),
        (Kind.ABORT, {"acts": True}),
        (Kind.ABORT, {}),
        (Kind.TRUNCATE, {}),
        (Kind.CUT, {}),
        (Kind.HANG, {"acts": True}),
    ],
)
async def test_create_of_unknown_outcome_is_not_repeated(
    zoom: SimulatedZoom, clock: ManualClock, kind: Kind, fault: dict[str, Any]
) -> None:
    """ZC43, ZC36: whatever is no clear answer may have made a room, so the client never sends a create again by itself."""
    order(zoom, kind, **fault)
    async with zoom_client(
        zoom, clock, tries=Tries(most=4, first_seconds=0, limit_seconds=0, call_seconds=0.5)
    ) as client:
        reply = await client.call(create())
    assert (reply.ruling.decision, reply.sent, sum(calls(zoom, "create").values())) == ("unknown", True, 1)


async def test_unreachable_zoom_had_no_effect(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """ZC36 F1: a connection that never stood is tried again, and known to have done nothing."""
    async with zoom_client(zoom, clock) as client:
        await client.call(create())
        client._apps = {"Acct0ExampleNeutral001": app_of(zoom, api_url="http://127.0.0.1:1")}
        reply = await client.call(create())
    assert (reply.ruling.decision, reply.sent) == ("retry", False)


async def test_harmless_failure_is_tried_again(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """A limit per second, and an update that may or may not have worked, are tried again within the call."""
    order(zoom, Kind.TOO_MANY, count=2)
    order(zoom, Kind.ABORT, "update", acts=True)
    async with zoom_client(zoom, clock, tries=Tries(most=4, first_seconds=0, limit_seconds=1.1)) as client:
        made = await client.call(create())
        changed = await client.call(about(UPDATE, number_of(made.document), body={"topic": "Other"}))
    assert (made.ruling.decision, calls(zoom, "create")) == ("done", {201: 1, 429: 2})
    assert (changed.ruling.decision, changed.sent, calls(zoom, "update")) == ("done", True, {0: 1, 204: 1})


async def test_daily_limit_is_not_tried_again(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """A day's limit says until when, and whose it is."""
    order(zoom, Kind.TOO_MANY, count=None, limit="host_daily")
    async with zoom_client(zoom, clock) as client:
        reply = await client.call(create())
    assert (reply.ruling.decision, reply.scope, calls(zoom, "create")) == ("park", "host", {429: 1})
    assert reply.not_before is not None
    assert reply.not_before.isoformat() == "2026-12-02T00:00:00+00:00"


async def test_nothing_is_sent_without_a_permit(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """The lease is asked for before every try."""
    async with zoom_client(zoom, clock) as client:
        with pytest.raises(PermissionError):
            await client.call(create(), permit=never)
    assert calls(zoom, "create") == {}


async def test_permit_is_asked_for_before_each_try(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """A lease that was lost while a call failed ends the call: there is no second try."""
    asked = 0

    async def once() -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise PermissionError

    order(zoom, Kind.ERROR, "update", count=None, status=503)
    async with zoom_client(zoom, clock) as client:
        number = number_of((await client.call(create())).document)
        with pytest.raises(PermissionError):
            await client.call(about(UPDATE, number, body={"topic": "Other"}), permit=once)
    assert calls(zoom, "update") == {503: 1}


async def test_permit_that_nobody_can_give_is_no_missing_token(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """A database that is away while the lease is read is the caller's matter, and pauses no creates."""
    async with zoom_client(zoom, clock) as client:
        with pytest.raises(Unavailable):
            await client.call(create(), permit=away)
    assert calls(zoom, "create") == {}


async def away() -> None:
    """A permit for which the database is asked in vain."""
    raise Unavailable("the database is away")


async def test_list_is_whole_or_not_at_all(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """All pages are read; a page that fails makes the list incomplete."""
    async with zoom_client(zoom, clock) as client:
        for number in range(3):
            await client.call(create(topic=f"Room {number}"))
        whole = await list_rooms(client, account_id="Acct0ExampleNeutral001", host=HOST, permit=allow)
        order(zoom, Kind.ERROR, "list", count=None, status=502, body="")
        broken = await list_rooms(client, account_id="Acct0ExampleNeutral001", host=HOST, permit=allow)
    assert ([each["topic"] for each in whole.rooms], whole.complete) == (["Room 0", "Room 1", "Room 2"], True)
    assert (broken.rooms, broken.complete) == ((), False)


async def allow() -> None:
    """A permit that is given."""


@pytest.mark.parametrize(
    ("said", "base"),
    [
        ("https://api-us.zoom.us", "https://api-us.zoom.us"),
        ("https://zoom.us", "https://zoom.us"),
        ("http://api.zoom.us", "https://api.zoom.us"),
        ("https://zoom.us.example.com", "https://api.zoom.us"),
        ("https://evilzoom.us", "https://api.zoom.us"),
        ("https://user@api.zoom.us", "https://api.zoom.us"),
        ("https://api.zoom.us:8443", "https://api.zoom.us"),
        ("api.zoom.us", "https://api.zoom.us"),
        (None, "https://api.zoom.us"),
    ],
)
def test_where_calls_go(zoom: SimulatedZoom, clock: ManualClock, said: str | None, base: str) -> None:
    """A token's address is believed only within Zoom's own domain; an address set by hand always."""
    token = Token(text="x", expires_at=clock.now(), api_url=said)
    found = (api_base(app_of(zoom, api_url=None), token), api_base(app_of(zoom), token))
    assert found == (base, zoom.address)


async def test_reply_reads_code_and_message() -> None:
    """Without an answer the reason stands in for Zoom's code and words."""
    from zoom.client.decisions import NOTHING_SENT

    reply = Reply(ruling=NOTHING_SENT)
    assert (reply.code, reply.message, reply.document) == ("unreachable", "unreachable", {})
