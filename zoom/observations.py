"""What Roomkeeper saw for itself: answers of Zoom's REST API as records of `zoom-events`, beside the webhooks.

An observation travels like a webhook, `{"event": "observation.<kind>", "payload": {"account_id", "object": <the
answer>}, "observed": {...}}`, without secrets. It counts as of the moment its request was sent, a little earlier
even: what Zoom answered was true then at the latest. A page becomes one observation per row, so that none touches
many entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import orjson

from schemas.errors import BadMessage
from schemas.ids import EventId, derive
from schemas.records.zoom_events import ZoomEvent
from zoom.times import ms_of
from zoom.webhooks.body import number_text
from zoom.webhooks.event_ids import canonical_hash
from zoom.webhooks.redaction import without_nul, without_secrets

Kind = Literal[
    "meeting",  # GET /meetings/{id}, also the 201 of a create; a 404 counts
    "listed_meeting",  # one item of GET /users/{id}/meetings
    "past_meeting",  # GET /past_meetings/{uuid}
    "past_instance",  # one item of GET /past_meetings/{id}/instances
    "past_participant",  # one row of GET /past_meetings/{uuid}/participants
    "report_participant",  # one row of GET /report/meetings/{uuid}/participants
    "registrant",  # one row of GET /meetings/{id}/registrants, or the 201 of an add
]
PREFIX = "observation."
_NUL = b"\\u0000"
"""How JSON writes it; a text that holds these very characters is looked through for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The call behind an observation."""

    sent_at: datetime
    elapsed_seconds: float
    status: int
    date: datetime | None = None
    """The response's `Date`: Zoom's own clock; None when the response had none."""
    code: int | None = None
    """Zoom's error code."""
    lists_every_occurrence: bool = False
    """Whether the call asked for past occurrences too: then an occurrence that the answer does not name is gone."""


def observation(
    kind: Kind,
    *,
    account_id: str,
    zoom_id: str,
    uuid: str | None = None,
    asked: Asked,
    answer: Mapping[str, Any],
    received_at: datetime,
    source: Literal["poll", "worker"] = "poll",
) -> ZoomEvent:
    """The record of one answer, or of one row of it.

    `answer` is Zoom's JSON as it came: of a meeting the whole document, of a page one row; anything of a 404.

    Raises:
        BadMessage: `zoom_id` is no meeting number.
    """
    number = number_text(zoom_id)
    if number is None:
        raise BadMessage("zoom_id: not a meeting number")
    body = without_secrets(_body(kind, account_id=account_id, zoom_id=number, uuid=uuid, asked=asked, answer=answer))
    text = orjson.dumps(body)
    if _NUL in text:
        body = without_nul(body)
        text = orjson.dumps(body)
    name = PREFIX + kind
    sent_ms = str(ms_of(asked.sent_at))
    return ZoomEvent(
        event_id=EventId(derive("zoom", account_id, name, number, uuid or "", sent_ms, canonical_hash(body))),
        account_id=account_id,
        zoom_id=number,
        name=name,
        happened_at=asked.sent_at,
        received_at=received_at,
        source=source,
        request_id=None,
        body=text.decode(),
    )


def _body(
    kind: Kind, *, account_id: str, zoom_id: str, uuid: str | None, asked: Asked, answer: Mapping[str, Any]
) -> dict[str, Any]:
    known = {"id": zoom_id} if uuid is None else {"id": zoom_id, "uuid": uuid}
    rowed = {"past_participant": "participant", "report_participant": "participant", "registrant": "registrant"}
    subject = {rowed[kind]: dict(answer), **known} if kind in rowed else {**answer, **known}
    observed: dict[str, Any] = {
        "sent_at": ms_of(asked.sent_at),
        "elapsed_ms": round(asked.elapsed_seconds * 1000),
        "status": asked.status,
        "every_occurrence": asked.lists_every_occurrence,
    }
    if asked.date is not None:
        observed["date"] = ms_of(asked.date)
    if asked.code is not None:
        observed["code"] = asked.code
    return {"event": PREFIX + kind, "payload": {"account_id": account_id, "object": subject}, "observed": observed}
