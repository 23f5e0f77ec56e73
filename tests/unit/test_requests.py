"""What callers may ask of meetings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.requests import ChangeRequest, MeetingRequest, apply_changes, cancel_hash

WHOLE: dict[str, Any] = {
    "host": "host@example.com",
    "topic": "Planning",
    "start_time": "2026-07-01T09:00:00",
    "timezone": "Europe/Madrid",
    "duration_minutes": 45,
    "settings": {"waiting_room": False},
}


def meeting(**other: Any) -> MeetingRequest:
    """The usual request, but for what is named."""
    return MeetingRequest.model_validate({**WHOLE, **other})


def change(**named: Any) -> str:
    """The changes that name these fields."""
    return ChangeRequest.model_validate(named).changes()


@pytest.mark.parametrize(
    "wrong",
    [
        {"host": "me"},
        {"host": "a host"},
        {"host": "x/../y"},
        {"topic": "  "},
        {"topic": "a\x00b"},
        {"agenda": "a\x00b"},
        {"topic": "x" * 201},
        {"duration_minutes": 0},
        {"duration_minutes": 1441},
        {"duration_minutes": "45"},
        {"agenda": "x" * 1901},
        {"settings": {"use_pmi": True}},
        {"recurrence": {"type": 2}},
        {"recurrence": {"type": 2, "end_times": 2, "end_at": "2026-08-01T00:00:00Z"}},
        {"password": "x"},
    ],
)
def test_limits_hold(wrong: dict[str, Any]) -> None:
    """A field outside its limits, or of no known name, is refused."""
    with pytest.raises(ValidationError):
        meeting(**wrong)


def test_hash_is_of_the_meaning() -> None:
    """Different ways to write one request have one hash."""
    ways = (
        meeting(),
        meeting(start_time="2026-07-01T07:00:00Z"),
        meeting(agenda="", settings={"waiting_room": False, "host_video": False}),
    )
    assert len({each.request_hash() for each in ways}) == 1


def test_hash_tells_requests_apart() -> None:
    """Anything that differs in meaning has another hash, the kind of command included."""
    hashes = [
        meeting().request_hash(),
        meeting(topic="Other").request_hash(),
        meeting(timezone="Europe/Paris").request_hash(),
        ChangeRequest(topic="Other").request_hash(expected_version=None),
        ChangeRequest(topic="Other").request_hash(expected_version=1),
        cancel_hash(reason="", expected_version=None),
        cancel_hash(reason="", expected_version=1),
    ]
    assert len(set(hashes)) == len(hashes)


def test_change_leaves_the_rest() -> None:
    """What a change does not name stays, down to single settings."""
    before = meeting().details()
    after = apply_changes(before, change(topic="Other", settings={"host_video": True}))
    assert (after.topic, after.duration_minutes, after.settings.waiting_room, after.settings.host_video) == (
        "Other",
        45,
        False,
        True,
    )


def test_new_zone_alone_keeps_the_wall_time() -> None:
    """The same hour elsewhere is another instant."""
    after = apply_changes(meeting().details(), change(timezone="America/New_York"))
    assert (after.start_local, after.start_at) == (
        "2026-07-01T09:00:00",
        datetime.fromisoformat("2026-07-01T13:00:00Z"),
    )


def test_new_time_alone_keeps_the_zone() -> None:
    """A wall time without a zone is read in the meeting's own."""
    after = apply_changes(meeting().details(), change(start_time="2026-12-01T09:00:00"))
    assert (after.timezone, after.start_at) == ("Europe/Madrid", datetime.fromisoformat("2026-12-01T08:00:00Z"))


def test_null_ends_a_series_and_nothing_else_takes_it() -> None:
    """`recurrence` alone may be null."""
    before = meeting(recurrence={"type": 1, "end_times": 3}).details()
    assert apply_changes(before, change(recurrence=None)).recurrence is None
    with pytest.raises(ValidationError):
        ChangeRequest.model_validate({"topic": None})


def test_empty_change_is_refused() -> None:
    """A change names something."""
    with pytest.raises(ValidationError):
        ChangeRequest.model_validate({})
