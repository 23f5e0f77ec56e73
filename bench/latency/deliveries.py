"""Signed webhooks of people who join, one after another, each with a connection of its own."""

from __future__ import annotations

from dataclasses import dataclass
from hmac import digest
from typing import NamedTuple

import orjson

from bench.room_events import webhook
from runtime.clock import Clock

SECRET = "bench-secret"  # noqa: S105 - signs nothing but this load
ROOMS = 200


class Connection(NamedTuple):
    """Key of the row that a delivery makes."""

    zoom_id: str
    uuid: str
    user_id: str


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Makes deliveries of this moment."""

    clock: Clock

    def request(self, number: int) -> tuple[bytes, Connection]:
        """The request of the join with this number, ready for the socket, and what it makes."""
        now = self.clock.now()
        body = webhook("meeting.participant_joined", room=number % ROOMS, person=number, at=now, time_field="join_time")
        run = body["payload"]["object"]
        row = Connection(run["id"], run["uuid"], run["participant"]["user_id"])
        return _signed(orjson.dumps(body), seconds=str(int(now.timestamp())).encode()), row


def _signed(body: bytes, *, seconds: bytes) -> bytes:
    signature = digest(SECRET.encode(), b"v0:" + seconds + b":" + body, "sha256").hex().encode()
    heads = (
        b"host: roomkeeper.example.com",
        b"content-type: application/json; charset=utf-8",
        b"x-zm-request-timestamp: " + seconds,
        b"x-zm-signature: v0=" + signature,
        b"x-zm-request-id: " + signature[:36],
        b"content-length: " + str(len(body)).encode(),
    )
    return b"POST /webhooks/zoom HTTP/1.1\r\n" + b"\r\n".join(heads) + b"\r\n\r\n" + body
