"""What the day holds: the meetings, what people do in them, and what goes wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MINUTES = 45


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """One meeting that a caller asks for."""

    topic: str
    host: str
    scenario: Mapping[str, Any] = field(default_factory=dict)
    """What people do in it, as the simulator's control API takes it; what is left out happens not at all."""
    change: Mapping[str, Any] | None = None
    """What the caller changes of it afterwards."""
    is_cancelled: bool = False
    """Whether the caller cancels it afterwards."""


QUIET = {
    "rejoins": 0,
    "dropped": 0,
    "second_devices": 0,
    "lobbies": 0,
    "breakouts": 0,
    "same_second": 0,
    "anonymous": 0,
}

BOOKINGS: Sequence[Booking] = (
    Booking(topic="Weekly planning", host="host-01@example.com", scenario={"people": 5, "rejoins": 2}),
    Booking(topic="Design review", host="host-02@example.com", scenario={"people": 6, "same_second": 2}),
    Booking(topic="Workshop in breakout rooms", host="host-03@example.com", scenario={"people": 7, "breakouts": 3}),
    Booking(topic="Interview with a waiting room", host="host-04@example.com", scenario={"people": 4, "lobbies": 2}),
    Booking(topic="Call that is started twice", host="host-05@example.com", scenario={"people": 4, "restarts": 1}),
    Booking(topic="Bad line: people drop and rejoin", host="host-06@example.com", scenario={"people": 6, "dropped": 3}),
    Booking(topic="Laptop and phone", host="host-07@example.com", scenario={"people": 5, "second_devices": 2}),
    Booking(topic="Open evening", host="host-08@example.com", scenario={"people": 9, "anonymous": 4, "same_second": 1}),
    Booking(
        topic="A bit of everything, three times over",
        host="host-09@example.com",
        scenario={"people": 12, "restarts": 2, "rejoins": 2, "dropped": 1, "second_devices": 1, "breakouts": 1}
        | {"same_second": 1, "anonymous": 2},
    ),
    Booking(topic="Lecture", host="host-10@example.com", scenario={"people": 30, "rejoins": 4, "same_second": 5}),
    Booking(
        topic="Team lunch",
        host="host-11@example.com",
        scenario={"people": 3, "rejoins": 1},
        change={"topic": "Team lunch, moved to the terrace", "duration_minutes": 60},
    ),
    Booking(topic="Call that is called off", host="host-12@example.com", is_cancelled=True),
)

ROOM_FAULTS: Sequence[Mapping[str, Any]] = (
    # Zoom makes the room, and the answer is lost behind a gateway's 504.
    {"kind": "error", "names": ["create"], "acts": True, "status": 504, "body": "Gateway Timeout", "count": 1}
    | {"content_type": "text/plain"},
)
WEBHOOK_FAULTS: Sequence[Mapping[str, Any]] = (
    {"kind": "duplicate", "probability": 0.3, "seconds": 30},
    {"kind": "reorder", "probability": 0.5, "seconds": 90},
    {"kind": "fail", "names": ["meeting.participant_left"], "count": 1},
    {"kind": "fail", "names": ["meeting.ended"], "count": 1},
    {"kind": "unheard", "names": ["meeting.participant_joined"], "count": 1},
)
"""Seconds are Zoom's own, to be divided by the speed."""
