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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson
import structlog

from ingress.body import BodyFault, Message, Receive, Scope, Send, read_body
from ingress.counts import WebhookCounts
from ingress.intake import Intake, account_of, request_id_of
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
    messages: tuple[Message, Message] = field(init=False, repr=False, compare=False)
    """As the server wants it told."""

    def __post_init__(self) -> None:
        """Most answers are made once and given often."""
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        object.__setattr__(self, "messages", (start, {"type": "http.response.body", "body": self.body}))


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
        self._seconds = clock.monotonic_seconds
        self._counts = WebhookCounts(metrics)
        self._quiet_until = 0.0
        self._log = structlog.get_logger("roomkeeper.ingress")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = self._seconds()
        answer = await self._answer(scope, receive) if scope["method"] == "POST" else NOT_ALLOWED
        start, end = answer.messages
        await send(start)
        await send(end)
        self._counts.answered(answer.outcome, self._seconds() - began)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        heads = _heads(scope["headers"])
        raw = await read_body(receive, declared=heads.get(b"content-length"), limit_bytes=self._settings.max_body_bytes)
        if isinstance(raw, BodyFault):
            return FAULTS[raw]
        found = self._judge(raw, heads, path=scope["path"])
        if isinstance(found, Answer):
            return found
        began = self._seconds()
        try:
            await self._producer.deliver(found)
        except RoomkeeperError as error:
            self._tell_unavailable(found, error)
            return UNAVAILABLE
        self._counts.acknowledged(found.topic, self._seconds() - began)
        return ACCEPTED if found.topic == self._intake.events_topic else DEAD_LETTER

    def _judge(self, raw: bytes, heads: Mapping[bytes, bytes], *, path: str) -> Answer | Outgoing:
        """The answer, or the record that the broker must have first."""
        account, secrets = self._secrets_for(path)
        route = PATH if account is None else OWN_PATH
        now = self._clock.now()
        verified = verify(
            raw,
            signature=heads.get(SIGNATURE_HEADER),
            timestamp=heads.get(TIMESTAMP_HEADER),
            secrets=secrets,
            now=now,
            window_seconds=self._settings.signature_window_seconds,
        )
        if isinstance(verified, Refusal):
            return self._refuse(verified.value, account=account, route=route)
        request_id = request_id_of(heads.get(REQUEST_ID_HEADER))
        try:
            return self._take(raw, verified=verified, request_id=request_id, received_at=now, route=route)
        except BadMessage as error:
            self._counts.dead_letter(error)
            return self._intake.dead_letter(raw, error, verified=verified, request_id=request_id, received_at=now)

    def _take(
        self, raw: bytes, *, verified: Verified, request_id: str | None, received_at: datetime, route: str
    ) -> Answer | Outgoing:
        """What becomes of an authentic body.

        Raises:
            BadMessage: it is no event.
        """
        body = read_webhook(raw)
        if body.name == URL_VALIDATION:
            return self._challenge(body, verified, route=route)
        account_id = account_of(body, verified)
        if account_id is None:
            return self._refuse(ACCOUNT_UNKNOWN, account=body.account_id, route=route)
        record = self._intake.event(body, account_id=account_id, request_id=request_id, received_at=received_at)
        self._counts.heard(account_id, received_at)
        return record

    def _challenge(self, body: WebhookBody, verified: Verified, *, route: str) -> Answer:
        answer = validation_answer(body.plain_token, secret=verified.value)
        if answer is None:
            return self._refuse(CHALLENGE_REFUSED, account=None, route=route)
        return Answer(status=200, outcome="challenge", headers=(_JSON,), body=orjson.dumps(answer))

    def _secrets_for(self, path: str) -> tuple[str | None, tuple[Secret, ...]]:
        """The account that the path names, and what may verify a body there."""
        if path == PATH:
            return None, self._secrets.shared
        account = path[len(PATH) + 1 :]
        return account, self._secrets.own.get(account, ())

    def _refuse(self, reason: str, *, account: str | None, route: str) -> Answer:
        """`account` is the one that was claimed, in the path or by an authentic body."""
        claimed = account if account in self._secrets.own else None
        self._refusals.count(reason, account_id=claimed, path=route)
        self._counts.refused(reason)
        return REFUSED

    def _tell_unavailable(self, record: Outgoing, error: RoomkeeperError) -> None:
        """One line in ten seconds: while the broker is away every request would have its own."""
        now = self._seconds()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_SECONDS
            self._log.warning(
                "ingress.unavailable", topic=record.topic, error=str(error), waiting=self._producer.in_flight
            )


def _heads(headers: Sequence[tuple[bytes, bytes]]) -> Mapping[bytes, bytes]:
    """The headers by name, which servers give in lower case. One that is there twice can be none that holds."""
    heads = dict(headers)
    if len(heads) != len(headers):
        names = [name for name, _ in headers]
        for name in (SIGNATURE_HEADER, TIMESTAMP_HEADER):
            if names.count(name) > 1:
                heads[name] = b""
    return heads
