"""Signatures of webhooks: every published vector, and every way in which a request is not Zoom's."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from schemas.ids import AccountId
from tests.samples import FOLDER
from zoom.signature import Refusal, Secret, Verified, sign, validation_answer, verify

VECTORS: dict[str, Any] = json.loads((FOLDER / "vectors" / "signature_vectors.json").read_text(encoding="utf-8"))
NOW = datetime(2026, 3, 10, 10, 0, tzinfo=UTC)
ACCOUNT = frozenset({AccountId("A")})
OTHER = frozenset({AccountId("B")})
BODY = b'{"event":"meeting.started"}'


def secret(value: str = "a", accounts: frozenset[AccountId] = ACCOUNT, expires_at: datetime | None = None) -> Secret:
    """A secret of an account."""
    return Secret(value=value.encode(), accounts=accounts, expires_at=expires_at)


def check(
    *secrets: Secret,
    body: bytes = BODY,
    key: str = "a",
    timestamp: bytes | None = None,
    signature: bytes | None = None,
    now: datetime = NOW,
) -> Verified | Refusal:
    """Verify `body` as signed with `key` at `timestamp`, unless another signature is given."""
    seconds = timestamp or str(int(now.timestamp())).encode()
    signed = sign(body, timestamp=seconds, secret=key.encode()) if signature is None else signature
    return verify(
        body, signature=signed, timestamp=seconds, secrets=secrets or (secret(),), now=now, window_seconds=300
    )


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_every_published_vector_verifies(vector: dict[str, Any]) -> None:
    """Each published delivery verifies with its secret at the second that it was signed."""
    seconds = vector["headers"]["x-zm-request-timestamp"]
    verified = verify(
        vector["raw_body_utf8"].encode(),
        signature=vector["headers"]["x-zm-signature"].encode(),
        timestamp=seconds.encode(),
        secrets=(secret(VECTORS["secret_token"]),),
        now=datetime.fromtimestamp(int(seconds), UTC),
        window_seconds=300,
    )
    assert isinstance(verified, Verified)


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_a_vector_with_one_byte_changed_is_refused(vector: dict[str, Any]) -> None:
    """The same delivery with a blank at its end, which changes no meaning, is refused."""
    seconds = vector["headers"]["x-zm-request-timestamp"]
    verified = verify(
        vector["raw_body_utf8"].encode() + b" ",
        signature=vector["headers"]["x-zm-signature"].encode(),
        timestamp=seconds.encode(),
        secrets=(secret(VECTORS["secret_token"]),),
        now=datetime.fromtimestamp(int(seconds), UTC),
        window_seconds=300,
    )
    assert verified is Refusal.SIGNATURE_MISMATCH


def test_the_published_challenge_gets_the_published_answer() -> None:
    """The URL validation is answered as Zoom expects it."""
    expected = VECTORS["crc_response"]
    assert validation_answer(expected["plainToken"], secret=VECTORS["secret_token"].encode()) == expected


def test_the_published_attack_gets_nothing() -> None:
    """The token that would make us sign a forged event is not answered."""
    attack = VECTORS["crc_oracle_attack"]
    assert validation_answer(attack["attacker_plainToken"], secret=VECTORS["secret_token"].encode()) is None


@pytest.mark.parametrize(
    "token", ["", "v0:1:{}", "a" * 129, "a b", "a\n", "é", "a:b", '{"a":1}', None, 7, ["a"], {"a": "b"}]
)
def test_what_is_no_plain_token_is_not_answered(token: object) -> None:
    """Only short tokens of letters, digits, hyphens and underscores are signed."""
    assert validation_answer(token, secret=b"a") is None


@pytest.mark.parametrize(
    ("seconds", "counts"),
    [(0, True), (-299, True), (-300, True), (-301, False), (299, True), (300, True), (301, False)],
)
def test_the_window_is_inclusive_on_both_sides(seconds: int, counts: bool) -> None:
    """300 seconds either way still count, 301 do not."""
    stamp = str(int(NOW.timestamp()) + seconds).encode()
    assert isinstance(check(timestamp=stamp), Verified) is counts


def test_a_part_of_a_second_does_not_shorten_the_window() -> None:
    """A delivery signed 300 whole seconds ago counts all through that second."""
    stamp = str(int(NOW.timestamp()) - 300).encode()
    assert isinstance(check(timestamp=stamp, now=NOW + timedelta(milliseconds=999)), Verified)


@pytest.mark.parametrize(
    ("stamp", "reason"),
    [
        (b"0", Refusal.TIMESTAMP_STALE),
        (b"-5", Refusal.TIMESTAMP_ODD),
        (b"12abc", Refusal.TIMESTAMP_ODD),
        (b"1773136800000", Refusal.TIMESTAMP_ODD),
        (b" 1773136800", Refusal.TIMESTAMP_ODD),
        (b"1_773_136_800", Refusal.TIMESTAMP_ODD),
        ("١٧٧٣١٣٦٨٠٠".encode(), Refusal.TIMESTAMP_ODD),
        (b"9" * 400, Refusal.TIMESTAMP_ODD),
    ],
)
def test_an_odd_timestamp_is_refused_even_when_it_is_signed(stamp: bytes, reason: Refusal) -> None:
    """A timestamp that is not epoch seconds is refused whatever its signature says."""
    assert check(timestamp=stamp) is reason


@pytest.mark.parametrize(
    "signature", [b"", b"v0=", "v0=é0".encode("latin-1"), b"v1=" + b"0" * 64, b"v0=" + b"A" * 64, b"v0=" + b"0" * 65]
)
def test_an_odd_signature_is_refused_without_an_error(signature: bytes) -> None:
    """What has not the form of a signature is refused, non-ASCII bytes included."""
    assert check(signature=signature) is Refusal.SIGNATURE_ODD


@pytest.mark.parametrize(
    ("signature", "timestamp", "reason"),
    [(None, b"1", Refusal.SIGNATURE_MISSING), (b"v0=", None, Refusal.TIMESTAMP_MISSING)],
)
def test_a_missing_header_is_refused(signature: bytes | None, timestamp: bytes | None, reason: Refusal) -> None:
    """Either header missing is a refusal with its own reason."""
    found = verify(BODY, signature=signature, timestamp=timestamp, secrets=(secret(),), now=NOW, window_seconds=300)
    assert found is reason


def test_without_a_secret_nothing_verifies() -> None:
    """No secret at all, and a blank one, accept nothing, not even what is signed with a blank key."""
    signed = sign(BODY, timestamp=b"1773136800", secret=b"")
    for secrets in ((), (secret(""),)):
        found = verify(BODY, signature=signed, timestamp=b"1773136800", secrets=secrets, now=NOW, window_seconds=300)
        assert found is Refusal.SECRET_MISSING


def test_both_secrets_of_a_rotation_count_until_the_old_one_ends() -> None:
    """Old and new secret verify during the overlap; from its end on only the new one does."""
    rotation = (secret("new"), secret("old", expires_at=NOW + timedelta(hours=24)))
    assert isinstance(check(*rotation, key="old"), Verified)
    assert isinstance(check(*rotation, key="new"), Verified)
    assert check(*rotation, key="old", now=NOW + timedelta(hours=24)) is Refusal.SIGNATURE_MISMATCH


def test_a_secret_speaks_only_for_its_accounts() -> None:
    """What verified a body names the accounts of that secret, and all of them when two share one value."""
    assert check(secret("a"), secret("b", OTHER), key="b") == Verified(value=b"b", accounts=OTHER)
    assert check(secret("a"), secret("a", OTHER)) == Verified(value=b"a", accounts=ACCOUNT | OTHER)


def test_secrets_do_not_show() -> None:
    """A secret is not in the text of what holds it."""
    assert "hidden" not in repr((secret("hidden"), Verified(value=b"hidden", accounts=ACCOUNT)))
