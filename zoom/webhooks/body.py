"""The envelope of a webhook: what must hold before a body can be an event at all.

`{"event": text, "event_ts": ms, "payload": {"account_id": text, "object": {...}}}`. `app_deauthorized` and the URL
validation have no `payload.object`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from schemas.errors import BadMessage

URL_VALIDATION = "endpoint.url_validation"
APP_DEAUTHORIZED = "app_deauthorized"
NAME_CHARS = 128
"""Zoom's longest event name has about 60."""
NUMBER_DIGITS = 20
"""Meeting numbers have 9 to 11 today; a 64-bit number has at most 20."""
ACCOUNT_CHARS = 128

_OBJECTLESS = frozenset({URL_VALIDATION, APP_DEAUTHORIZED})
_NUMBERED = ("meeting.", "webinar.", "recording.")
"""Families whose `object.id` is a meeting number; elsewhere it names a user, a call, a message."""


class WebhookBody(NamedTuple):
    """A body that holds together. Build it with keywords; a tuple, for speed.

    `document` is whole, secrets included: it must not leave the process.
    """

    name: str
    account_id: str | None
    """The account that the body claims; None when it claims none."""
    document: dict[str, Any]

    def __repr__(self) -> str:
        """Without the document."""
        return f"WebhookBody(name={self.name!r}, account_id={self.account_id!r})"

    @property
    def payload(self) -> dict[str, Any]:
        """The `payload` of the body."""
        payload: dict[str, Any] = self.document["payload"]
        return payload

    @property
    def plain_token(self) -> str | None:
        """The challenge of a URL validation; None in every other body, or when it is no text."""
        token = self.payload.get("plainToken")
        return token if self.name == URL_VALIDATION and isinstance(token, str) else None


def read_webhook(raw: bytes) -> WebhookBody:
    """The envelope in authentic bytes.

    Raises:
        BadMessage: not UTF-8, not JSON, or without what every event has; the message names the field.
    """
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadMessage(f"the body is no JSON: {error.msg}") from error
    if not isinstance(document, dict):
        raise BadMessage("the body is no JSON object")
    name = document.get("event")
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS or not name.isprintable():
        raise BadMessage("event: not a printable text of 1 to 128 characters")
    payload = document.get("payload")
    if not isinstance(payload, dict):
        raise BadMessage("payload: not an object")
    if name not in _OBJECTLESS and not isinstance(payload.get("object"), dict):
        raise BadMessage("payload.object: not an object")
    account = payload.get("account_id")
    known = isinstance(account, str) and 0 < len(account) <= ACCOUNT_CHARS
    return WebhookBody(name=name, account_id=account if known else None, document=document)


def meeting_number(name: str, subject: Mapping[str, Any]) -> str | None:
    """The meeting number in an event's object as text, whatever its JSON type; None when it has none."""
    if not name.startswith(_NUMBERED):
        return None
    return number_text(subject.get("id")) or number_text(subject.get("meeting_id"))


def number_text(value: object) -> str | None:
    """`91234567890` out of 91234567890, "91234567890", " 912 3456 7890 " or 91234567890.0; None for anything else."""
    if isinstance(value, str) and value.isdigit() and value.isascii() and len(value) <= NUMBER_DIGITS:
        return value
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = "".join(value.split()) if isinstance(value, str) else str(value) if isinstance(value, int) else ""
    return text if text.isascii() and text.isdigit() and len(text) <= NUMBER_DIGITS else None
