"""What was heard from Zoom: the records of `zoom-events`, keyed by the meeting number or `account:<id>`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoomEvent:
    """One webhook delivery, or one observation by the poller or the room worker.

    `event_id` names the event, not the delivery: two deliveries of one event share it, and a second copy may still
    carry a field that the first lacked, so it is never a reason to drop one.
    """

    event_id: str
    account_id: str
    zoom_id: str | None
    """Meeting number; None for events of the account."""
    name: str
    """Zoom's event name (`meeting.started`), or `observation.<kind>`."""
    happened_at: datetime | None
    """`event_ts`; None when the body has none. For an observation, the moment its request was sent."""
    received_at: datetime
    source: str
    """`webhook`, `webhook_log`, `poll` or `worker`."""
    request_id: str | None
    """`x-zm-request-id` of the delivery: equal over Zoom's own retries."""
    body: str
    """The original JSON text without its secrets (passcodes, start_url, download tokens, clientid)."""
