"""From a webhook's envelope to the record of `zoom-events`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

import orjson

from schemas.errors import BadMessage
from schemas.ids import EventId
from schemas.records.zoom_events import ZoomEvent
from schemas.zoom_event_bytes import zoom_event_bytes
from zoom.times import epoch_ms, moment, ms_of
from zoom.webhooks.body import APP_DEAUTHORIZED, URL_VALIDATION, WebhookBody, meeting_number, read_webhook
from zoom.webhooks.event_ids import event_id
from zoom.webhooks.redaction import has_secret_names, without_nul, without_secrets


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
    told = _told(body, account_id=account_id)
    return ZoomEvent(
        event_id=told.event_id,
        account_id=account_id,
        zoom_id=told.zoom_id,
        name=body.name,
        happened_at=None if told.happened_ms is None else moment(told.happened_ms),
        received_at=received_at,
        source=source,
        request_id=request_id,
        body=told.text.decode(),
    )


def zoom_event_record(
    body: WebhookBody, *, account_id: str, request_id: str | None, received_at: datetime, source: str = "webhook"
) -> tuple[str, bytes]:
    """Key and bytes of the event's record in `zoom-events`: those of `zoom_event`, without making a value of it.

    Raises:
        BadMessage: as `zoom_event`.
    """
    told = _told(body, account_id=account_id)
    value = zoom_event_bytes(
        event_id=told.event_id,
        account_id=account_id,
        zoom_id=told.zoom_id,
        name=body.name,
        happened_ms=told.happened_ms,
        received_ms=ms_of(received_at),
        source=source,
        request_id=request_id,
        body=told.text,
    )
    return _key(told.zoom_id, account_id), value


def record_key(event: ZoomEvent) -> str:
    """The key of the event's record in `zoom-events`: its meeting number, or `account:<id>` where it has none."""
    return _key(event.zoom_id, event.account_id)


def _key(zoom_id: str | None, account_id: str) -> str:
    return zoom_id or f"account:{account_id}"


class _Told(NamedTuple):
    """What a body tells."""

    event_id: EventId
    zoom_id: str | None
    happened_ms: int | None
    text: bytes
    """The body as it may travel, as JSON."""


def _told(body: WebhookBody, *, account_id: str) -> _Told:
    if body.name == URL_VALIDATION:
        raise BadMessage(f"event: {URL_VALIDATION} is answered, never kept")
    shared, text = _shared(body)
    # The recipe of app_deauthorized names the client id, which does not travel; all others use what does.
    told_of = body.document if body.name == APP_DEAUTHORIZED else shared
    return _Told(
        event_id(account_id=account_id, name=body.name, body=told_of),
        meeting_number(body.name, body.payload.get("object") or {}),
        _happened_ms(body),
        text,
    )


def _shared(body: WebhookBody) -> tuple[dict[str, Any], bytes]:
    """The body as it may travel, and its JSON."""
    shared = body.document
    text = b"" if has_secret_names(shared) else orjson.dumps(shared)
    if not text or b"://" in text:
        shared = without_secrets(shared)
        text = orjson.dumps(shared)
    if b"\\u0000" in text:
        shared = without_nul(shared)
        text = orjson.dumps(shared)
    return shared, text


def _happened_ms(body: WebhookBody) -> int | None:
    """`event_ts`; `app_deauthorized` has it inside its payload, and may write it as text."""
    if body.name == APP_DEAUTHORIZED:
        payload = body.payload
        own = epoch_ms(payload.get("deauthorization_time"))
        return epoch_ms(payload.get("event_ts")) if own is None else own
    return epoch_ms(body.document.get("event_ts"))
