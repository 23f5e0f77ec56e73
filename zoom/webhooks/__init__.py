"""Webhook bodies: authentic bytes become a `ZoomEvent`, without secrets, under an id that all its deliveries share.

Reading is tolerant: fields nobody knows are kept, blanks and odd types are no errors. Only a body that is no object
with `event` and `payload.object` is refused. Signatures are checked elsewhere, before anything here runs.
"""

from __future__ import annotations

from zoom.webhooks.body import URL_VALIDATION, WebhookBody, read_webhook
from zoom.webhooks.events import parse, record_key, zoom_event, zoom_event_record

__all__ = ["URL_VALIDATION", "WebhookBody", "parse", "read_webhook", "record_key", "zoom_event", "zoom_event_record"]
