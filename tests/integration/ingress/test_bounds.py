"""What is sent in excess, too slowly or not as HTTP costs its sender the connection, and nobody else anything."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from runtime.settings import Settings
from tests.ingress import ACCOUNT, SECRET, FixedClock, Receiver, new_api_key, prepared, serving, signed
from tests.stack import Stack
from tests.waiting import wait_for

ENOUGH = 5.0


@pytest.fixture
def strict(stack: Stack) -> Iterator[Receiver]:
    """Ingress with short times and a small limit for bodies."""
    clock = FixedClock()
    with stack.corner() as corner:
        settings = _strict(prepared(corner))
        with serving(settings, clock=clock) as url:
            yield Receiver(url=url, settings=settings, clock=clock)


def _strict(settings: Settings) -> Settings:
    bounds = {"max_body_bytes": 2_048, "max_request_bytes": 1_024, "receive_timeout_seconds": 0.5}
    return settings.model_copy(update={"ingress": settings.ingress.model_copy(update=bounds)})


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    """A bare connection."""
    address = urlsplit(url)
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=ENOUGH) as opened:
        yield opened


def answer_to(url: str, *pieces: bytes) -> bytes:
    """All that comes back for these bytes until the server ends the connection."""
    with connected(url) as opened:
        for piece in pieces:
            opened.sendall(piece)
        return b"".join(iter(lambda: opened.recv(65_536), b""))


def head(receiver: Receiver, body: bytes, *, length: bytes | None, path: bytes = b"/webhooks/zoom") -> bytes:
    """The head of a signed delivery that declares `length`, or comes in chunks when that is None."""
    given = signed(body, secret=SECRET, at=receiver.clock.at, request_id=receiver.request_id)
    lines = [f"{name}: {value}".encode() for name, value in given.items()]
    lines.append(b"transfer-encoding: chunked" if length is None else b"content-length: " + length)
    return b"POST " + path + b" HTTP/1.1\r\nhost: x\r\n" + b"\r\n".join(lines) + b"\r\n\r\n"


def test_a_body_that_declares_too_much_is_refused_unread(strict: Receiver) -> None:
    """413 although not one byte of it was sent, and the connection ends."""
    assert answer_to(strict.url, head(strict, b"", length=b"2049")).startswith(b"HTTP/1.1 413 ")


def test_a_chunked_body_is_refused_once_it_is_too_large(strict: Receiver) -> None:
    """A sender without a declared length is counted as it goes."""
    body = b"x" * 3_000
    chunks = b"".join(b"3e8\r\n" + body[at : at + 1_000] + b"\r\n" for at in (0, 1_000, 2_000))
    assert answer_to(strict.url, head(strict, body, length=None), chunks).startswith(b"HTTP/1.1 413 ")


def test_a_chunked_body_within_the_limit_counts(strict: Receiver) -> None:
    """Chunks are put together before the signature is checked."""
    body = b'{"event":"meeting.started","payload":{"object":{"id":1,"uuid":"u"}}}'
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (body[:7], body[7:]))
    with connected(strict.url) as opened:
        opened.sendall(head(strict, body, length=None) + chunks + b"0\r\n\r\n")
        assert opened.recv(65_536).startswith(b"HTTP/1.1 204 ")
    assert len(strict.events()) == 1


def test_deliveries_in_pieces_and_several_in_one_piece_are_answered_alike(receiver: Receiver) -> None:
    """One in two pieces, then two at once: each is answered in its turn, until one that is too large ends it."""
    body = b'{"event":"meeting.started","payload":{"object":{"id":1,"uuid":"u"}}}'
    whole = head(receiver, body, length=b"%d" % len(body)) + body
    answers = answer_to(receiver.url, whole[:60], whole[60:], whole + whole, head(receiver, b"", length=b"700001"))
    statuses = [line.split()[1] for line in answers.splitlines() if line.startswith(b"HTTP/1.1 ")]
    assert statuses == [b"204", b"204", b"204", b"413"]


def test_a_sender_that_ends_the_connection_gets_its_answer_first(strict: Receiver) -> None:
    """`connection: close` is answered in kind."""
    body = b'{"event":"meeting.started","payload":{"object":{"id":1,"uuid":"u"}}}'
    whole = head(strict, body, length=b"%d" % len(body)) + body
    answer = answer_to(strict.url, whole.replace(b"host: x", b"host: x\r\nconnection: close"))
    assert answer == b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"


def test_one_connection_too_many_is_closed_unanswered(stack: Stack) -> None:
    """Those that are there keep theirs, and when one goes there is room again."""
    request = b"GET /webhooks/zoom HTTP/1.1\r\nhost: x\r\n\r\n"
    with stack.corner() as corner:
        settings = prepared(corner)
        crowded = settings.ingress.model_copy(update={"max_connections": 2})
        with serving(settings.model_copy(update={"ingress": crowded})) as url, connected(url) as first:
            with connected(url) as second:
                assert not _is_answered(url, request)
                second.sendall(request)
                assert second.recv(65_536).startswith(b"HTTP/1.1 405 ")
            wait_for(lambda: _is_answered(url, request), what="room for another connection")
            first.sendall(request)
            assert first.recv(65_536).startswith(b"HTTP/1.1 405 ")


def _is_answered(url: str, request: bytes) -> bool:
    try:
        return answer_to(url, request).startswith(b"HTTP/1.1 405 ")
    except (BrokenPipeError, ConnectionResetError):
        return False


def test_a_body_that_does_not_come_is_given_up(strict: Receiver) -> None:
    """The connection ends after the time-out, without an answer."""
    assert answer_to(strict.url, head(strict, b"{}", length=b"100"), b"{") == b""


def test_a_whole_request_may_take_its_time(strict: Receiver) -> None:
    """Once a request is complete, its sender waits as long as it wants, far beyond the time for sending one."""
    headers = {"authorization": f"Bearer {new_api_key(strict.settings)}", "idempotency-key": "k", "prefer": "wait=2"}
    body = {"host": "h@example.com", "topic": "t", "start_time": "2027-03-20T09:00:00Z"}
    assert httpx.post(strict.url + "/v1/meetings", json=body, headers=headers, timeout=10).status_code == 202


@pytest.mark.parametrize("sent", [b"", b"POST /webhooks/zoom HTTP/1.1\r\nhost: x\r\n"])
def test_a_head_that_does_not_end_is_given_up(strict: Receiver, sent: bytes) -> None:
    """A connection that sends nothing, or half a head, is closed without a word."""
    assert answer_to(strict.url, sent) == b""


def test_a_head_without_end_is_given_up(strict: Receiver) -> None:
    """A head that grows on and on is cut off."""
    with connected(strict.url) as opened, pytest.raises((BrokenPipeError, ConnectionResetError)):
        opened.sendall(b"POST /webhooks/zoom HTTP/1.1\r\n")
        while True:
            opened.sendall(b"x-padding: " + b"a" * 8_192 + b"\r\n")


def test_the_next_request_of_a_connection_is_bounded_too(strict: Receiver) -> None:
    """Half a head after a whole request is given up as well."""
    body = b"{}"
    whole = head(strict, body, length=b"2") + body
    answer = answer_to(strict.url, whole, whole[:60])
    assert answer.startswith(b"HTTP/1.1 204 ")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
def test_webhooks_take_only_posts(strict: Receiver, method: str) -> None:
    """Any other method is 405 with what is allowed."""
    answer = answer_to(strict.url, f"{method} /webhooks/zoom HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert b"allow: POST" in answer


def test_a_request_to_the_api_is_bounded_as_well(strict: Receiver) -> None:
    """413 as a problem."""
    answer = answer_to(strict.url, head(strict, b"", length=b"1025", path=b"/v1/meetings"))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"application/problem+json" in answer


def test_an_event_that_grows_beyond_a_record_is_kept_sealed(receiver: Receiver) -> None:
    """Numbers may be longer in our JSON than in the sender's: it is a dead letter then, not a 503 for ever."""
    numbers = b",".join([b"1e15"] * 100_000)
    answer = receiver.post(
        b'{"event":"meeting.started","event_ts":1773136805000,"payload":{"account_id":"%b","object":{"id":1,"n":[%b]}}}'
        % (ACCOUNT.encode(), numbers)
    )
    assert (answer.status_code, receiver.events(), len(receiver.dead_letters())) == (204, [], 1)
