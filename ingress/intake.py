"""From an authentic body to the one record that keeps it: an event, or a dead letter when it is none.

Guarantee: every authentic body but a URL validation becomes exactly one record; what cannot be read is kept as it came,
sealed, because bytes that cannot be parsed cannot be cleaned of secrets.
"""

from __future__ import annotations

from datetime import datetime

from runtime.cipher import Cipher
from runtime.kafka.config import MESSAGE_MAX_BYTES
from runtime.kafka.producer import Outgoing
from runtime.topics import ZOOM_EVENTS, physical
from runtime.unreadable_bodies import UnreadableBodies, UnreadableBody
from schemas.codec import header
from schemas.errors import BadMessage
from schemas.ids import AccountId
from schemas.records.zoom_events import ZoomEvent
from zoom.signature import Verified
from zoom.webhooks import WebhookBody, zoom_event_record

STAGE = "ingress"
REQUEST_ID_CHARS = 128


class Intake:
    """Makes records of deliveries."""

    def __init__(self, *, topic_prefix: str, cipher: Cipher) -> None:
        """`topic_prefix` is what this cluster's topic names begin with."""
        self.events_topic = physical(ZOOM_EVENTS, prefix=topic_prefix)
        header(ZoomEvent)  # reads the schemas now, not while the first delivery waits
        self._unreadable = UnreadableBodies(stage=STAGE, topic_prefix=topic_prefix, cipher=cipher)

    def event(
        self, body: WebhookBody, *, account_id: AccountId, request_id: str | None, received_at: datetime
    ) -> Outgoing:
        """The record of `zoom-events`.

        Raises:
            BadMessage: the body cannot be an event, or is too large for one: `1e15` is three times as long in a record.
        """
        key, value = zoom_event_record(body, account_id=account_id, request_id=request_id, received_at=received_at)
        if len(value) > MESSAGE_MAX_BYTES:
            raise BadMessage(f"{len(value)} bytes as an event, more than {MESSAGE_MAX_BYTES}")
        return Outgoing(self.events_topic, key.encode(), value)

    def dead_letter(
        self, raw: bytes, error: BadMessage, *, verified: Verified, request_id: str | None, received_at: datetime
    ) -> Outgoing:
        """The record of `dead-letters`: the bytes as they came, sealed."""
        body = UnreadableBody(raw=raw, account_id=min(verified.accounts), request_id=request_id, failed_at=received_at)
        return self._unreadable.dead_letter(body, error)


def account_of(body: WebhookBody, verified: Verified) -> AccountId | None:
    """The account that a body counts for; None when it claims one that its secret does not speak for.

    Raises:
        BadMessage: it claims none, and the secret speaks for several.
    """
    if body.account_id is not None:
        claimed = AccountId(body.account_id)
        return claimed if claimed in verified.accounts else None
    if len(verified.accounts) == 1:
        return next(iter(verified.accounts))
    raise BadMessage("payload.account_id: missing, and the secret speaks for several accounts")


def request_id_of(header: bytes | None) -> str | None:
    """Zoom's id of a delivery, equal over its retries; None when absent or odd."""
    if header is None or not 0 < len(header) <= REQUEST_ID_CHARS or not header.isascii():
        return None
    text = header.decode("ascii")
    return text if text.isprintable() else None
