"""The record that a webhook would have become, had it reached ingress.

The same parser, key and topic; the same end for what cannot be read. What ingress would not have taken either is left
out: bodies too large, for another account, and the URL validation, which is a question. No signature is looked at:
these bodies come from Zoom over a connection of our own.
"""

from __future__ import annotations

import structlog

from reconciler.poller.webhook_logs import Delivery
from runtime.cipher import Cipher
from runtime.clock import Clock
from runtime.kafka.config import MESSAGE_MAX_BYTES
from runtime.kafka.producer import Outgoing
from runtime.metrics.catalogue.poller import POLLER_DELIVERIES
from runtime.metrics.catalogue.shared import DEAD_LETTERS
from runtime.metrics.registry import Metrics
from runtime.settings import Settings
from runtime.topics import ZOOM_EVENTS, physical
from runtime.unreadable_bodies import UnreadableBodies, UnreadableBody
from schemas.codec import encode
from schemas.errors import BadMessage
from zoom.webhooks import URL_VALIDATION, read_webhook, record_key, zoom_event

STAGE = "poller"
SOURCE = "webhook_log"


class Redelivery:
    """Makes records of deliveries."""

    def __init__(self, settings: Settings, *, clock: Clock, metrics: Metrics) -> None:
        """For this cluster's topics.

        Raises:
            Misconfigured: there is no key to seal unreadable bodies with.
        """
        prefix, cipher = settings.kafka.topic_prefix, Cipher(settings.security.encryption_keys)
        self._unreadable = UnreadableBodies(stage=STAGE, topic_prefix=prefix, cipher=cipher)
        self._topic = physical(ZOOM_EVENTS, prefix=prefix)
        self._limit_bytes = settings.ingress.max_body_bytes
        self._clock = clock
        self._metrics = metrics
        self._log = structlog.get_logger("roomkeeper.poller")

    def record(self, account_id: str, delivery: Delivery) -> Outgoing | None:
        """An event, or a dead letter; None for what is refused."""
        if len(delivery.raw) > self._limit_bytes:
            self._refuse(account_id, delivery, reason="too_large")
            return None
        try:
            return self._event(account_id, delivery)
        except BadMessage as error:
            return self._dead_letter(account_id, delivery, error)

    def _event(self, account_id: str, delivery: Delivery) -> Outgoing | None:
        body = read_webhook(delivery.raw)
        if body.name == URL_VALIDATION or body.account_id not in (None, account_id):
            self._refuse(account_id, delivery, reason="url_validation" if body.plain_token else "other_account")
            return None
        event = zoom_event(
            body,
            account_id=account_id,
            request_id=delivery.request_id,
            received_at=self._clock.now(),
            source=SOURCE,
        )
        value = encode(event)
        if len(value) > MESSAGE_MAX_BYTES:
            raise BadMessage(f"{len(value)} bytes as an event, more than {MESSAGE_MAX_BYTES}")
        self._metrics.counter(POLLER_DELIVERIES, outcome="taken").inc()
        return Outgoing(topic=self._topic, key=record_key(event).encode(), value=value)

    def _dead_letter(self, account_id: str, delivery: Delivery, error: BadMessage) -> Outgoing:
        self._metrics.counter(POLLER_DELIVERIES, outcome="unreadable").inc()
        self._metrics.counter(DEAD_LETTERS, stage=STAGE, error=type(error).__name__).inc()
        unreadable = UnreadableBody(
            raw=delivery.raw,
            account_id=account_id,
            request_id=delivery.request_id,
            failed_at=delivery.failed_at,  # part of the letter's name: sent again after a crash, it is the same letter
        )
        return self._unreadable.dead_letter(unreadable, error)

    def _refuse(self, account_id: str, delivery: Delivery, *, reason: str) -> None:
        self._metrics.counter(POLLER_DELIVERIES, outcome="refused").inc()
        self._log.warning("poller.delivery_refused", account=account_id, request_id=delivery.request_id, reason=reason)
