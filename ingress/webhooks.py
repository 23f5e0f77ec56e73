"""`POST /webhooks/zoom` and `/webhooks/zoom/{account}`: Zoom's deliveries, as fast and as safe as they can be had.

An ASGI application of its own, before the framework: bounded bytes, then the signature, then everything else.

| answer | when |
|---|---|
| 204 | the broker has the event, or the dead letter that an unreadable body became |
| 200 | a signed URL validation |
| 401 | not Zoom's, or for an account that its secret does not speak for; counted, told on `security-alerts` |
| 413 | too large |
| 503 | the broker did not acknowledge in time; Zoom sends again, and twice the same event does no harm |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import orjson
import structlog

from ingress.body import BodyFault, Receive, Scope, Send, read_body
from ingress.counts import WebhookCounts
from ingress.intake import Arrival, Intake, account_of, request_id_of
from ingress.refusals import ACCOUNT_UNKNOWN, CHALLENGE_REFUSED, Refusals
from ingress.secrets import Secrets
from runtime.clock import Clock
from runtime.kafka.async_producer import AsyncProducer
from runtime.kafka.producer import Outgoing
from runtime.metrics.registry import Metrics
from runtime.settings import IngressSettings
from schemas.errors import BadMessage, RoomkeeperError
from zoom.signature import (
    REQUEST_ID_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    Refusal,
    Secret,
    Verified,
    validation_answer,
    verify,
)
from zoom.webhooks import URL_VALIDATION, WebhookBody, read_webhook

PATH = "/webhooks/zoom"
OWN_PATH = "/webhooks/zoom/{account}"
QUIET_SECONDS = 10.0

_JSON = (b"content-type", b"application/json")
_CLOSE = (b"connection", b"close")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back, and how it is counted."""

    status: int
    outcome: str
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""


ACCEPTED = Answer(status=204, outcome="accepted")
DEAD_LETTER = Answer(status=204, outcome="dead_letter")
REFUSED = Answer(status=401, outcome="refused")
UNAVAILABLE = Answer(status=503, outcome="unavailable", headers=((b"retry-after", b"5"),))
NOT_ALLOWED = Answer(status=405, outcome="other", headers=((b"allow", b"POST"), _CLOSE))
FAULTS: Mapping[BodyFault, Answer] = {
    BodyFault.TOO_LARGE: Answer(status=413, outcome="too_large", headers=(_CLOSE,)),
    BodyFault.DISCONNECTED: Answer(status=400, outcome="disconnected", headers=(_CLOSE,)),
}
"""Of a connection that is gone, the answer is only counted."""


class Webhooks:
    """The ASGI application for both paths."""

    def __init__(
        self,
        settings: IngressSettings,
        *,
        secrets: Secrets,
        intake: Intake,
        producer: AsyncProducer,
        refusals: Refusals,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        """All parts are made elsewhere; the producer must belong to the loop that serves."""
        self._settings = settings
        self._secrets = secrets
        self._intake = intake
        self._producer = producer
        self._refusals = refusals
        self._clock = clock
        self._counts = WebhookCounts(metrics)
        self._quiet_until = 0.0
        self._log = structlog.get_logger("roomkeeper.ingress")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = self._clock.monotonic_seconds()
        answer = await self._answer(scope, receive) if scope["method"] == "POST" else NOT_ALLOWED
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})
        self._counts.answered(answer.outcome, self._clock.monotonic_seconds() - began)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        heads = _heads(scope["headers"])
        raw = await read_body(receive, declared=heads.length, limit_bytes=self._settings.max_body_bytes)
        if isinstance(raw, BodyFault):
            return FAULTS[raw]
        account, secrets = self._secrets_for(scope["path"])
        now = self._clock.now()
        verified = verify(
            raw,
            signature=heads.signature,
            timestamp=heads.timestamp,
            secrets=secrets,
            now=now,
            window_seconds=self._settings.signature_window_seconds,
        )
        if isinstance(verified, Refusal):
            return self._refuse(verified.value, account=account)
        return await self._take(
            Arrival(raw=raw, verified=verified, request_id=request_id_of(heads.request_id), received_at=now)
        )

    async def _take(self, arrival: Arrival) -> Answer:
        """What an authentic body is answered."""
        try:
            body = read_webhook(arrival.raw)
            if body.name == URL_VALIDATION:
                return self._challenge(body, arrival.verified)
            account_id = account_of(body, arrival.verified)
            if account_id is None:
                return self._refuse(ACCOUNT_UNKNOWN, account=body.account_id)
            record = self._intake.event(arrival, body, account_id=account_id)
        except BadMessage as error:
            self._counts.dead_letter(error)
            return await self._keep(self._intake.dead_letter(arrival, error), DEAD_LETTER)
        self._counts.heard(account_id, arrival.received_at)
        return await self._keep(record, ACCEPTED)

    async def _keep(self, record: Outgoing, answer: Answer) -> Answer:
        """The answer, once the broker has the record."""
        began = self._clock.monotonic_seconds()
        try:
            await self._producer.deliver(record)
        except RoomkeeperError as error:
            self._tell_unavailable(record, error)
            return UNAVAILABLE
        self._counts.acknowledged(record.topic, self._clock.monotonic_seconds() - began)
        return answer

    def _challenge(self, body: WebhookBody, verified: Verified) -> Answer:
        answer = validation_answer(body.plain_token, secret=verified.value)
        if answer is None:
            return self._refuse(CHALLENGE_REFUSED, account=None)
        return Answer(status=200, outcome="challenge", headers=(_JSON,), body=orjson.dumps(answer))

    def _secrets_for(self, path: str) -> tuple[str | None, tuple[Secret, ...]]:
        """The account that the path names, and what may verify a body there."""
        if path == PATH:
            return None, self._secrets.shared
        account = path[len(PATH) + 1 :]
        return account, self._secrets.own.get(account, ())

    def _refuse(self, reason: str, *, account: str | None) -> Answer:
        claimed = account if account in self._secrets.own else None
        self._refusals.count(reason, account_id=claimed, path=PATH if account is None else OWN_PATH)
        self._counts.refused(reason)
        return REFUSED

    def _tell_unavailable(self, record: Outgoing, error: RoomkeeperError) -> None:
        """One line in ten seconds: while the broker is away every request would have its own."""
        now = self._clock.monotonic_seconds()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_SECONDS
            self._log.warning(
                "ingress.unavailable", topic=record.topic, error=str(error), waiting=self._producer.in_flight
            )


class _Heads(NamedTuple):
    """The headers that count here; a tuple, because one is made per request."""

    signature: bytes | None
    timestamp: bytes | None
    request_id: bytes | None
    length: bytes | None


def _heads(headers: Iterable[tuple[bytes, bytes]]) -> _Heads:
    """The headers by name, which servers give in lower case. One that is there twice can be none that holds."""
    signature = timestamp = request_id = length = None
    for name, value in headers:
        if name == SIGNATURE_HEADER:
            signature = value if signature is None else b""
        elif name == TIMESTAMP_HEADER:
            timestamp = value if timestamp is None else b""
        elif name == REQUEST_ID_HEADER:
            request_id = value
        elif name == b"content-length":
            length = value
    return _Heads(signature, timestamp, request_id, length)
