"""The requests that the load consists of: Zoom's deliveries, signed, ready to be written to a socket."""

from __future__ import annotations

from hmac import digest

import orjson

SECRET = b"bench-secret"
ACCOUNT = "AcctBench0000000000001"
PATH = b"/webhooks/zoom"
MEETINGS = 200
PEOPLE = 10


def requests(*, timestamp: int) -> list[bytes]:
    """`MEETINGS * PEOPLE` different deliveries, all signed at this second."""
    return [_request(_body(meeting, person), timestamp) for meeting in range(MEETINGS) for person in range(PEOPLE)]


def _request(body: bytes, timestamp: int) -> bytes:
    seconds = str(timestamp).encode()
    signature = digest(SECRET, b"v0:" + seconds + b":" + body, "sha256").hex().encode()
    heads = (
        b"host: roomkeeper.example.com",
        b"user-agent: Zoom Marketplace/1.0a",
        b"content-type: application/json; charset=utf-8",
        b"x-zm-request-timestamp: " + seconds,
        b"x-zm-signature: v0=" + signature,
        b"x-zm-request-id: " + signature[:36],
        b"x-zm-trackingid: v=2.0;clid=us02;rid=WEB_" + signature[:32],
        b"content-length: " + str(len(body)).encode(),
    )
    return b"POST " + PATH + b" HTTP/1.1\r\n" + b"\r\n".join(heads) + b"\r\n\r\n" + body


def _body(meeting: int, person: int) -> bytes:
    """A participant who joins, the commonest event there is, as Zoom writes it."""
    participant = {
        "user_id": str(16_778_240 + person),
        "user_name": f"Guest {person}",
        "id": "",
        "participant_user_id": "",
        "participant_uuid": f"22222222-BBBB-4BBB-8BBB-{person:012d}",
        "email": "",
        "registrant_id": "",
        "join_time": f"2026-12-01T15:{person:02d}:10Z",
    }
    run = {
        "uuid": f"1P2rbp0oCNjcjqP3LP{meeting:04d}==",
        "participant": participant,
        "id": str(91_000_000_000 + meeting),
        "type": 2,
        "topic": "Weekly planning \u2013 blue team",
        "host_id": "HostBench0000000000001",
        "duration": 45,
        "start_time": "2026-12-01T14:58:31Z",
        "timezone": "Europe/London",
    }
    body = {
        "payload": {"account_id": ACCOUNT, "object": run},
        "event_ts": 1_796_137_210_900 + person,
        "event": "meeting.participant_joined",
    }
    return orjson.dumps(body)
