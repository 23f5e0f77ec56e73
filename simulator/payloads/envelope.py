"""The envelope around every event: its names, its times, its key order, and what varies between deliveries.

Source: Zoom's webhook reference; key orders and extra fields as recorded from live deliveries.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from runtime.randomness import Random
from simulator.model import Account
from simulator.wire import Json, millis


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One webhook body under its event name."""

    name: str
    body: Json


class Shapes:
    """Decides, event by event, between the documented shape and the one seen live."""

    def __init__(self, random: Random, *, live_share: float) -> None:
        """`live_share` of the events are in the live shape."""
        self._random = random
        self._live_share = live_share

    def live(self) -> bool:
        """Whether the next event takes the live shape."""
        return self._random.random() < self._live_share


def plain(name: str, account: Account, subject: Json, *, at: datetime) -> Event:
    """An event in the order of the meeting service: event, event_ts, payload."""
    payload = {"account_id": account.account_id, "object": subject}
    return Event(name=name, body={"event": name, "event_ts": millis(at), "payload": payload})


def reversed_order(name: str, account: Account, subject: Json, *, at: datetime) -> Event:
    """An event in the order of the event service: payload, event_ts, event."""
    payload = {"account_id": account.account_id, "object": subject}
    return Event(name=name, body={"payload": payload, "event_ts": millis(at), "event": name})


def operated(name: str, account: Account, subject: Json, *, at: datetime, extra: Json | None = None) -> Event:
    """An event of somebody's doing, with its operator; `extra` stands beside it (operation, scope)."""
    payload: Json = {"account_id": account.account_id, "operator": account.owner.email}
    payload |= {"operator_id": account.owner.host_id, **(extra or {}), "object": subject}
    return Event(name=name, body={"event": name, "event_ts": millis(at), "payload": payload})
