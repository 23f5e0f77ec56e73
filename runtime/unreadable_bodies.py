"""Bodies that cannot be read, as dead letters: kept as they came, sealed, for what cannot be parsed cannot be cleaned.

Such a letter never was a record: its origin is `zoom-events` without partition and offset, and its headers say whose
body it is and under which request id it was delivered, so that a replay can send it through the parser again.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from runtime.cipher import SEALED_HEADER, SEALED_WITH, Cipher
from runtime.kafka.producer import Outgoing
from runtime.topics import DEAD_LETTERS, ZOOM_EVENTS, physical
from schemas.dead_letters import Origin, dead_letter_headers
from schemas.errors import BadMessage

ACCOUNT_HEADER = "roomkeeper-account"
REQUEST_ID_HEADER = "x-zm-request-id"


class UnreadableBody(NamedTuple):
    """One authentic body that is no event. Build it with keywords."""

    raw: bytes
    account_id: str
    request_id: str | None
    failed_at: datetime


class UnreadableBodies:
    """Makes dead letters of bodies."""

    def __init__(self, *, stage: str, topic_prefix: str, cipher: Cipher) -> None:
        """`stage` names who could not read them; `topic_prefix` is what this cluster's topic names begin with."""
        self._stage = stage
        self._topic = physical(DEAD_LETTERS, prefix=topic_prefix)
        self._origin = physical(ZOOM_EVENTS, prefix=topic_prefix)
        self._cipher = cipher

    def dead_letter(self, body: UnreadableBody, error: BadMessage) -> Outgoing:
        """The record of `dead-letters`."""
        origin = Origin(
            topic=self._origin, partition=-1, offset=-1, timestamp_ms=round(body.failed_at.timestamp() * 1000)
        )
        own = [(SEALED_HEADER, SEALED_WITH), (ACCOUNT_HEADER, body.account_id.encode())]
        if body.request_id is not None:
            own.append((REQUEST_ID_HEADER, body.request_id.encode()))
        return Outgoing(
            topic=self._topic,
            key=f"account:{body.account_id}".encode(),
            value=self._cipher.seal(body.raw),
            headers=dead_letter_headers(
                origin=origin, stage=self._stage, error=error, failed_at=body.failed_at, previous=own
            ),
        )
