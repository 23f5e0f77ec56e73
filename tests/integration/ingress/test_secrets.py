"""What must not travel does not: no secret in any topic, log line or answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from runtime.clock import SystemClock
from runtime.settings import Settings
from runtime.topics import load
from tests.ingress import ACCOUNT, SECRET, FixedClock, Receiver, account, new_api_key, prepared, process, records
from tests.samples import webhook_files
from tests.stack import Stack

HIDDEN = [
    "SECRETZAK",
    "p4ssINVENTED",
    "INVENTEDSECRET",
    "p@ssINVENTED",
    "INVENTED.JWT.24H",
    "webhook_download",
    "x1Y2z3",
    "Bearer ",
    "client-secret-of-ours",
    SECRET,
]
"""Passcodes, host links, download tokens and links as the samples and the body below hold them, and our own secrets."""

CREATED = {
    "event": "meeting.created",
    "event_ts": 1773136800000,
    "payload": {
        "account_id": ACCOUNT,
        "object": {
            "id": 91000000001,
            "uuid": "u",
            "start_url": "https://example.com/s/91000000001?zak=SECRETZAK",
            "join_url": "https://example.com/j/91000000001?pwd=PWD",
            "password": "p4ssINVENTED",
            "settings": {"h323_password": "p4ssINVENTED", "note": "https://example.com/?a=1&zak=SECRETZAK"},
        },
    },
}


@pytest.fixture(scope="module")
def said(stack: Stack) -> Iterator[str]:
    """All that an ingress process wrote anywhere while it was sent every sample, odd bytes, and requests with its key."""
    with stack.corner() as corner:
        owner = account(ACCOUNT, SECRET).model_copy(update={"client_secret": "client-secret-of-ours"})
        settings = prepared(corner, owner)
        key = new_api_key(settings)
        log: list[str] = []
        answers: list[str] = []
        with process(settings, log=log) as (url, child):
            answers = _send(url, settings, key)
            child.terminate()
            child.wait(timeout=30)
        topics = [
            str((message.key(), message.value(), message.headers()))
            for topic in load().topics
            for message in records(settings, topic)
        ]
        assert len(topics) > len(webhook_files())
        assert any("ingress.request" in line for line in log)
        yield "\n".join((*topics, *log, *answers)).replace(key, "the whole key")


def _send(url: str, settings: Settings, key: str) -> list[str]:
    receiver = Receiver(url=url, settings=settings, clock=FixedClock(at=SystemClock().now()))
    bodies = [file.read_bytes() for file in webhook_files()] + [json.dumps(CREATED).encode()]
    sent = [receiver.post(body) for body in bodies]
    sent += [receiver.post(body + b"\xff") for body in bodies[:3]]
    sent += [receiver.post(bodies[0], secret="wrong"), receiver.post(bodies[0], headers={"authorization": "Bearer x"})]
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=20) as api:
        body = {"host": "host@example.com", "topic": "x", "start_time": "2027-03-20T09:00:00Z"}
        sent += [api.post("/v1/meetings", json=body, headers={"idempotency-key": "k"}), api.get("/v1/meetings")]
        sent += [api.get("/v1/meetings", headers={"authorization": "Bearer rk_wrong"}), api.get("/v1/rooms/1")]
    return [answer.text for answer in sent]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_zc33_no_secret_is_written_anywhere(said: str, hidden: str) -> None:
    """Passcodes, host links, tokens and secrets of ours are in no record, no log line and no answer."""
    assert hidden not in said


def test_zc33_the_join_link_is_kept(said: str) -> None:
    """What a room is for stays."""
    assert "https://example.com/j/91000000001?pwd=PWD" in said


def test_a_process_without_an_encryption_key_does_not_start(stack: Stack) -> None:
    """Exit 2 with one line that names the setting: what cannot be read could not be kept."""
    with stack.corner() as corner:
        settings = prepared(corner)
        bare = settings.model_copy(update={"security": type(settings.security)()})
        with pytest.raises(AssertionError) as caught, process(bare):
            pass
    assert "ROOMKEEPER_SECURITY__ENCRYPTION_KEYS" in str(caught.value)


def test_a_process_without_its_topics_does_not_start(stack: Stack) -> None:
    """Exit 2 with one line that names a topic and the cure."""
    with stack.corner() as corner, pytest.raises(AssertionError) as caught, process(prepared(corner, topics=False)):
        pass
    assert "roomkeeper topics apply" in str(caught.value)
