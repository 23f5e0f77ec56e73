"""From a webhook's envelope to the record of `zoom-events`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from schemas.errors import BadMessage
from schemas.records.zoom_events import ZoomEvent
from zoom.times import epoch_ms, moment
from zoom.webhooks.body import APP_DEAUTHORIZED, URL_VALIDATION, WebhookBody, meeting_number, read_webhook
from zoom.webhooks.event_ids import event_id
from zoom.webhooks.redaction import without_nul, without_secrets


def parse(
    raw: bytes, *, account_id: str, request_id: str | None, received_at: datetime, source: str = "webhook"
) -> ZoomEvent:
    """The event in authentic bytes, on behalf of the account whose secret verified them.

    Raises:
        BadMessage: not an object with `event` and `payload.object`; the message names the field.
    """
    return zoom_event(
        read_webhook(raw), account_id=account_id, request_id=request_id, received_at=received_at, source=source
    )


def zoom_event(
    body: WebhookBody, *, account_id: str, request_id: str | None, received_at: datetime, source: str = "webhook"
) -> ZoomEvent:
    """The event of a body that was read already.

    Raises:
        BadMessage: a URL validation, which is a question and no event, or nested too deeply.
    """
    if body.name == URL_VALIDATION:
        raise BadMessage(f"event: {URL_VALIDATION} is answered, never kept")
    shared, text = _shared(body)
    happened_ms = _happened_ms(body)
    return ZoomEvent(
        # The recipe of app_deauthorized names the client id, which does not travel; all others use what does.
        event_id=event_id(
            account_id=account_id, name=body.name, body=body.document if body.name == APP_DEAUTHORIZED else shared
        ),
        account_id=account_id,
        zoom_id=meeting_number(body.name, body.payload.get("object") or {}),
        name=body.name,
        happened_at=None if happened_ms is None else moment(happened_ms),
        received_at=received_at,
        source=source,
        request_id=request_id,
        body=text,
    )


def record_key(event: ZoomEvent) -> str:
    """The key of the event's record in `zoom-events`: its meeting number, or `account:<id>` where it has none."""
    return event.zoom_id or f"account:{event.account_id}"


def _shared(body: WebhookBody) -> tuple[dict[str, Any], str]:
    """The body as it may travel, and its JSON text."""
    shared = without_secrets(body.document)
    text = orjson.dumps(shared).decode()
    if "\\u0000" in text:
        shared = without_nul(shared)
        text = orjson.dumps(shared).decode()
    return shared, text


def _happened_ms(body: WebhookBody) -> int | None:
    """`event_ts`; `app_deauthorized` has it inside its payload, and may write it as text."""
    if body.name == APP_DEAUTHORIZED:
        payload = body.payload
        own = epoch_ms(payload.get("deauthorization_time"))
        return epoch_ms(payload.get("event_ts")) if own is None else own
    return epoch_ms(body.document.get("event_ts"))
