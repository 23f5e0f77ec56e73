"""The small parts of ingress: keys, secrets, accounts of bodies, and bodies within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any

import pytest

from ingress.body import BodyFault, read_body
from ingress.intake import account_of, request_id_of
from ingress.keys import ApiKey, parse_key
from ingress.secrets import secrets_of
from schemas.errors import BadMessage, Misconfigured
from schemas.ids import AccountId
from tests.ingress import account
from zoom.signature import Verified
from zoom.webhooks import WebhookBody

KEY = "rk_abcdefgh2345_" + "A" * 43


def receiving(*pieces: bytes, hang: bool = False) -> Any:
    """An ASGI `receive` that gives these pieces, and then hangs or ends."""
    left = list(pieces)

    async def receive() -> MutableMapping[str, Any]:
        if left:
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left) or hang}
        if hang:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    return receive


async def read(receive: Any, *, declared: bytes | None = None) -> bytes | BodyFault:
    """Read at most ten bytes."""
    return await read_body(receive, declared=declared, limit_bytes=10)


@pytest.mark.parametrize("pieces", [(b"",), (b"0123456789",), (b"01", b"", b"23"), (b"0" * 5, b"1" * 5)])
async def test_a_body_within_bounds_comes_whole(pieces: tuple[bytes, ...]) -> None:
    """The pieces are put together in order, up to the limit itself."""
    assert await read(receiving(*pieces)) == b"".join(pieces)


@pytest.mark.parametrize("pieces", [(b"0" * 11,), (b"0" * 6, b"0" * 5, b"0" * 1_000)])
async def test_a_body_is_given_up_at_the_first_piece_beyond_the_limit(pieces: tuple[bytes, ...]) -> None:
    """What is streamed is counted as it comes."""
    assert await read(receiving(*pieces, hang=True)) is BodyFault.TOO_LARGE


@pytest.mark.parametrize("declared", [b"11", b"99999999999999999999", b"-1", b"x", b"1.5"])
async def test_a_declared_length_beyond_the_limit_is_refused_unread(declared: bytes) -> None:
    """Not one byte is waited for."""
    assert await read(receiving(hang=True), declared=declared) is BodyFault.TOO_LARGE


async def test_a_sender_that_goes_away_is_told_apart() -> None:
    """A connection that ends in the middle is no body."""
    assert await read(receiving()) is BodyFault.DISCONNECTED


def test_a_key_opens_only_with_its_own_secret_and_while_in_force() -> None:
    """A key with another secret, and a revoked one, do not open."""
    presented = parse_key(KEY)
    other = parse_key(KEY[:-1] + "B")
    assert presented is not None
    assert other is not None
    made = datetime(2026, 3, 10, tzinfo=UTC)
    own = ApiKey(
        key_id=presented.key_id,
        account_id=AccountId("A"),
        name="x",
        key_hash=presented.key_hash,
        created_at=made,
        revoked_at=None,
    )
    revoked = ApiKey(
        key_id=own.key_id, account_id=own.account_id, name="x", key_hash=own.key_hash, created_at=made, revoked_at=made
    )
    assert (own.opens(presented), own.opens(other), revoked.opens(presented)) == (True, False, False)


@pytest.mark.parametrize("text", ["", "rk_", KEY[:-1], KEY + "A", KEY.upper(), KEY.replace("rk_", "sk_"), KEY + "\n"])
def test_what_has_not_the_form_of_a_key_is_none(text: str) -> None:
    """Only `rk_<key id>_<secret>` is looked up at all."""
    assert parse_key(text) is None


def test_a_secret_that_two_accounts_share_is_tried_once() -> None:
    """On the common path it speaks for both, on an account's own path for that account."""
    secrets = secrets_of([account("A", "one"), account("B", "one", "two"), account("C")])
    assert [(each.value, sorted(each.accounts)) for each in secrets.shared] == [(b"one", ["A", "B"]), (b"two", ["B"])]
    assert {name: [sorted(each.accounts) for each in own] for name, own in secrets.own.items()} == {
        "A": [["A"]],
        "B": [["B"], ["B"]],
        "C": [],
    }


def test_an_account_that_stands_twice_is_a_misconfiguration() -> None:
    """Which secrets it has would depend on the order."""
    with pytest.raises(Misconfigured, match="ROOMKEEPER_ACCOUNTS: A"):
        secrets_of([account("A", "one"), account("A", "two")])


def body(account_id: str | None) -> WebhookBody:
    """A body that claims this account."""
    return WebhookBody(name="meeting.started", account_id=account_id, document={"payload": {}})


def verified(*accounts: str) -> Verified:
    """Verified by a secret of these accounts."""
    return Verified(value=b"s", accounts=frozenset(map(AccountId, accounts)))


def test_a_body_counts_for_an_account_that_its_secret_speaks_for() -> None:
    """Its own account if the secret is that account's, the only one if it names none, otherwise none."""
    assert account_of(body("A"), verified("A", "B")) == "A"
    assert account_of(body("C"), verified("A", "B")) is None
    assert account_of(body(None), verified("A")) == "A"
    with pytest.raises(BadMessage, match=r"payload\.account_id"):
        account_of(body(None), verified("A", "B"))


@pytest.mark.parametrize(
    ("header", "request_id"),
    [(b"f35c_4be2", "f35c_4be2"), (None, None), (b"", None), (b"\xff", None), (b"a\x00", None), (b"a" * 129, None)],
)
def test_an_odd_request_id_is_none(header: bytes | None, request_id: str | None) -> None:
    """Zoom's id of a delivery is kept when it is short printable ASCII."""
    assert request_id_of(header) == request_id
