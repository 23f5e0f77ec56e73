"""The field cases of webhooks: signatures over bytes, header oddities, the signing oracle, rotation, freshness, shapes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from runtime.cipher import SEALED_HEADER, Cipher
from runtime.clock import SystemClock
from schemas.dead_letters import parse_dead_letter
from tests.ingress import (
    ACCOUNT,
    OTHER_ACCOUNT,
    OTHER_SECRET,
    SECRET,
    FixedClock,
    Receiver,
    account,
    headers_of,
    prepared,
    serving,
    signed,
)
from tests.stack import Stack
from zoom.signature import sign

NUMBER, RUN = "91000000001", "yxHS0ETsPhnsro6ktl/n/w=="


def body(event: str = "meeting.started", *, account_id: str = ACCOUNT, **of_object: Any) -> dict[str, Any]:
    """An event of one meeting."""
    subject = {"id": NUMBER, "uuid": RUN, "topic": "Planning / call", "start_time": "2026-03-10T10:00:00Z", **of_object}
    return {"event": event, "event_ts": 1773136805000, "payload": {"account_id": account_id, "object": subject}}


JOINED = body("meeting.participant_joined", participant={"user_id": "16778240", "user_name": "Guest 🚀 Üï"})
RAW = json.dumps(JOINED, ensure_ascii=False, separators=(",", ":")).encode()
ESCAPED = json.dumps(JOINED, separators=(",", ":")).encode()
PRETTY = json.dumps(JOINED, ensure_ascii=False, indent=2, sort_keys=True).encode() + b"\n"
SLASHES = RAW.replace(b"/", b"\\/").replace(b"==", b"\\u003d\\u003d")


def test_zc01_the_signature_is_over_the_bytes(receiver: Receiver) -> None:
    """Four ways to write one event are accepted and have one id; the bytes of one with another's signature are refused."""
    answers = [receiver.post(each).status_code for each in (RAW, ESCAPED, PRETTY, SLASHES)]
    crossed = receiver.post(RAW, headers={"x-zm-signature": _signature_of(receiver, ESCAPED)})
    kept = receiver.events()
    assert (answers, crossed.status_code) == ([204] * 4, 401)
    assert len(kept) == 4
    assert len({event.event_id for event in kept}) == 1
    assert {json.loads(event.body)["payload"]["object"]["uuid"] for event in kept} == {RUN}


def test_zc01_authentic_bytes_that_are_not_utf8_are_kept_sealed(receiver: Receiver) -> None:
    """They become a dead letter with 204: the bytes as they came, sealed, with where they came from and why."""
    raw = RAW.replace("Ü".encode(), b"\xdc")
    answer = receiver.post(raw)
    (dead,) = receiver.dead_letters()
    headers = headers_of(dead)
    failure = parse_dead_letter(headers).failure
    cipher = Cipher(receiver.settings.security.encryption_keys)
    assert answer.status_code == 204
    assert not receiver.events()
    assert (dead.key(), dict(headers)[SEALED_HEADER]) == (f"account:{ACCOUNT}".encode(), b"fernet")
    assert (failure.stage, failure.error_class, failure.attempt) == ("ingress", "BadMessage", 1)
    assert (failure.origin.partition, failure.origin.offset) == (-1, -1)
    assert cipher.open(dead.value() or b"") == raw
    assert b"Guest" not in (dead.value() or b"")


@pytest.mark.parametrize("write", [str.lower, str.title, str.upper])
def test_zc02_header_names_count_in_any_case(receiver: Receiver, write: Any) -> None:
    """Proxies write header names as they like."""
    names = ("x-zm-signature", "x-zm-request-timestamp")
    moved = {write(name): value for name, value in _headers(receiver, RAW).items() if name in names}
    answer = receiver.post(RAW, headers={**dict.fromkeys(names), **moved})
    assert answer.status_code == 204


@pytest.mark.parametrize(
    "headers",
    [
        {"x-zm-signature": None},
        {"x-zm-request-timestamp": None},
        {"x-zm-signature": ""},
        {"x-zm-signature": "v0=é0"},
        {"x-zm-request-timestamp": "12abc"},
        {"x-zm-request-timestamp": ""},
    ],
)
def test_zc02_odd_headers_are_refused(receiver: Receiver, headers: dict[str, str | None]) -> None:
    """401, never 500, and nothing is kept."""
    answer = receiver.post(RAW, headers=headers)
    assert answer.status_code == 401
    assert not receiver.events()


def test_zc02_another_signature_scheme_is_refused(receiver: Receiver) -> None:
    """The right digest under `v1=` is no signature of ours."""
    answer = receiver.post(RAW, headers={"x-zm-signature": _signature_of(receiver, RAW).replace("v0=", "v1=")})
    assert answer.status_code == 401


def challenge(token: object) -> dict[str, Any]:
    """A URL validation."""
    return {"event": "endpoint.url_validation", "event_ts": 1773136800000, "payload": {"plainToken": token}}


def test_zc03_a_signed_challenge_gets_the_known_answer_each_time(receiver: Receiver) -> None:
    """The answer is the published one, and 72 hours later the same."""
    wanted = "bbb663abfb05885181d1fd5957945cda2ecae4bd3e7c202c146d6294d8e7bd2f"
    first = receiver.post(challenge("qT7pLzX0Rk2mVbN4"))
    receiver.clock.advance(hours=72)
    second = receiver.post(challenge("qT7pLzX0Rk2mVbN4"))
    assert [first.json()["encryptedToken"], second.json()["encryptedToken"]] == [wanted, wanted]


@pytest.mark.parametrize("token", ["v0:1773136800:{}", "", "A" * 10_000, 7, None, ["a"]])
def test_zc03_no_token_that_could_be_something_to_sign_is_answered(receiver: Receiver, token: object) -> None:
    """Even when it is signed, such a challenge is refused, and nothing of an answer comes back."""
    answer = receiver.post(challenge(token))
    assert answer.status_code == 401
    assert b"encryptedToken" not in answer.content


@pytest.mark.parametrize("token", ["qT7pLzX0Rk2mVbN4", "v0:1773136800:{}"])
def test_zc03_an_unsigned_challenge_is_not_answered(receiver: Receiver, token: str) -> None:
    """Without a signature nothing is signed, whatever the token."""
    answer = receiver.post(challenge(token), headers={"x-zm-signature": None})
    assert (answer.status_code, answer.content) == (401, b"")


def test_zc04_without_secrets_nothing_is_accepted(stack: Stack) -> None:
    """An account without secrets refuses all, also what is signed with a blank key."""
    with stack.corner() as corner:
        settings = prepared(corner, account(ACCOUNT))
        with serving(settings) as url:
            receiver = Receiver(url=url, settings=settings, clock=_real_clock())
            assert receiver.post(RAW, secret="").status_code == 401
            assert not receiver.events()


def test_zc04_a_rotation_overlaps_until_the_old_secret_ends(stack: Stack, receiver: Receiver) -> None:
    """Both secrets count in the overlap, a challenge is answered with the one that signed it, then only the new one counts."""
    clock = receiver.clock
    ends = clock.at + timedelta(hours=24)
    with stack.corner() as corner:
        settings = prepared(corner, account(ACCOUNT, OTHER_SECRET, SECRET, expires_at=ends))
        with serving(settings, clock=clock) as url:
            rotating = Receiver(url=url, settings=settings, clock=clock)
            during = [rotating.post(RAW, secret=each).status_code for each in (SECRET, OTHER_SECRET)]
            answered = rotating.post(challenge("qT7pLzX0Rk2mVbN4"), secret=OTHER_SECRET).json()["encryptedToken"]
            clock.at = ends + timedelta(seconds=1)
            after = [rotating.post(RAW, secret=each).status_code for each in (SECRET, OTHER_SECRET)]
            assert len({event.event_id for event in rotating.events()}) == 1
    assert (during, after) == ([204, 204], [401, 204])
    assert answered == "123f7fef9a0648c13c561c7a90b38e43731b586b102cd0908c481569c93b6f1a"


@pytest.mark.parametrize(
    ("seconds", "status"), [(0, 204), (-299, 204), (-300, 204), (-301, 401), (299, 204), (301, 401)]
)
def test_zc05_the_window_holds_on_both_sides(receiver: Receiver, seconds: int, status: int) -> None:
    """A rightly signed delivery counts up to 300 s from our clock, before and after it."""
    answer = receiver.post(RAW, at=receiver.clock.at + timedelta(seconds=seconds))
    assert (answer.status_code, len(receiver.events())) == (status, int(status == 204))


@pytest.mark.parametrize("stamp", ["0", "-5", "1773136800000"])
def test_zc05_what_is_no_recent_second_is_refused(receiver: Receiver, stamp: str) -> None:
    """The epoch, a negative number and milliseconds are refused, though they are signed; nothing is read into them."""
    signature = sign(RAW, timestamp=stamp.encode(), secret=SECRET.encode()).decode()
    answer = receiver.post(RAW, headers={"x-zm-request-timestamp": stamp, "x-zm-signature": signature})
    assert (answer.status_code, receiver.events()) == (401, [])


def test_zc05_a_redelivery_with_a_fresh_timestamp_counts_and_a_replay_later_does_not(receiver: Receiver) -> None:
    """A replay at once is the same event; 25 minutes on, Zoom's re-signed retry is too, and the original is refused."""
    first_at = receiver.clock.at
    answers = [receiver.post(RAW), receiver.post(RAW, at=first_at)]
    receiver.clock.advance(minutes=25)
    answers.append(receiver.post(RAW))
    counted = _refused_as_stale(receiver)
    answers.append(receiver.post(RAW, at=first_at))
    assert [each.status_code for each in answers] == [204, 204, 204, 401]
    assert len({event.event_id for event in receiver.events()}) == 1
    assert _refused_as_stale(receiver) == counted + 1


def _refused_as_stale(receiver: Receiver) -> float:
    """How often ingress says that it refused a delivery for its time."""
    lines = httpx.get(receiver.url + "/metrics").text.splitlines()
    wanted = 'roomkeeper_ingress_refusals_total{reason="timestamp_stale"}'
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(wanted))


ODD_BUT_READABLE = [
    body("meeting.hologram_started"),
    body("meeting.participant_joined", participant={"user_id": "1", "device": "brain link", "join_time": ""}),
    body("meeting.registration_created", registrant={"id": "r", "status": "", "no_of_employees": ""}),
    body("meeting.ended", id="99999999999"),
]
UNREADABLE = [
    {"event": "meeting.ended", "event_ts": 1773136801000, "payload": {}},
    {"event": "meeting.ended", "payload": {"account_id": ACCOUNT}},
    {"payload": {"object": {}}},
    {"event": 7, "payload": {"object": {}}},
    [],
    None,
    "text",
    {},
]


@pytest.mark.parametrize("odd", ODD_BUT_READABLE, ids=lambda each: str(each["event"]))
def test_zc07_the_unknown_is_kept(receiver: Receiver, odd: dict[str, Any]) -> None:
    """Unknown events, unknown fields, blanks and unknown meetings are events like any other."""
    answer = receiver.post(odd)
    (kept,) = receiver.events()
    assert answer.status_code == 204
    assert not receiver.dead_letters()
    assert json.loads(kept.body)["payload"]["object"] == odd["payload"]["object"]


@pytest.mark.parametrize("odd", UNREADABLE, ids=json.dumps)
def test_zc07_what_is_no_event_is_a_dead_letter(receiver: Receiver, odd: Any) -> None:
    """Authentic bytes without the shape of an event are kept and acknowledged; sending them again would not help."""
    answer = receiver.post(json.dumps(odd).encode())
    assert answer.status_code == 204
    assert len(receiver.dead_letters()) == 1
    assert not receiver.events()


def test_zc08_a_number_and_a_text_are_one_meeting(receiver: Receiver) -> None:
    """Events with the meeting's number as a number and as text lie under one key, in one partition."""
    for written in (91000000001, "91000000001", " 910 0000 0001 "):
        receiver.post(body(id=written))
    assert {event.zoom_id for event in receiver.events()} == {NUMBER}


def test_a_body_counts_only_for_the_account_of_its_secret(receiver: Receiver) -> None:
    """One account's secret cannot speak for another, on the common path or on either's own."""
    own, foreign = body(), body(account_id=OTHER_ACCOUNT)
    answers = [
        receiver.post(foreign).status_code,
        receiver.post(own, secret=OTHER_SECRET).status_code,
        receiver.post(own, path=f"/webhooks/zoom/{OTHER_ACCOUNT}").status_code,
        receiver.post(foreign, path=f"/webhooks/zoom/{ACCOUNT}").status_code,
        receiver.post(own, path="/webhooks/zoom/nobody").status_code,
        receiver.post(own, path=f"/webhooks/zoom/{ACCOUNT}").status_code,
        receiver.post(foreign, path=f"/webhooks/zoom/{OTHER_ACCOUNT}", secret=OTHER_SECRET).status_code,
    ]
    assert answers == [401, 401, 401, 401, 401, 204, 204]
    assert sorted(event.account_id for event in receiver.events()) == [ACCOUNT, OTHER_ACCOUNT]


def test_a_repeated_signature_header_is_refused(receiver: Receiver) -> None:
    """Two signatures are none: which one a proxy meant cannot be known."""
    given = list(_headers(receiver, RAW).items())
    twice = [*given, ("x-zm-signature", _signature_of(receiver, RAW))]
    assert httpx.post(receiver.url + "/webhooks/zoom", content=RAW, headers=twice).status_code == 401


def _headers(receiver: Receiver, raw: bytes) -> dict[str, str]:
    return signed(raw, at=receiver.clock.at, request_id=receiver.request_id)


def _signature_of(receiver: Receiver, raw: bytes) -> str:
    return _headers(receiver, raw)["x-zm-signature"]


def _real_clock() -> FixedClock:
    return FixedClock(at=SystemClock().now())
