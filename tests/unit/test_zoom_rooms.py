"""Rooms on the wire: what is sent, the key that a room carries, and what differs from what was sent (ZC29, ZC31, ZC36)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.ids import MeetingId, ProviderKey, provider_key_for
from tests.meeting_commands import Caller, details
from tests.samples import rest
from zoom.client.rooms import agenda_with, differences, key_of, number_of, room_body, shown_by, text_of

KEY = provider_key_for(MeetingId(Caller().meeting_id), "create", 1)
NOW = datetime(2026, 3, 10, tzinfo=UTC)


def body(**other: Any) -> dict[str, Any]:
    """The body for the usual meeting, but for what is named."""
    return room_body(details(**other), key=KEY, tracking_field=None)


def test_settings_are_whole_and_refuse_the_personal_room() -> None:
    """ZC29: what is not said, Zoom takes from the account, so everything is said."""
    settings = body(settings={"waiting_room": False})["settings"]
    assert (settings["use_pmi"], settings["waiting_room"], len(settings)) == (False, False, 9)


@pytest.mark.parametrize(
    ("start_time", "timezone", "wire"),
    [
        ("2026-07-01T09:00:00", "Europe/Madrid", ("2026-07-01T09:00:00", "Europe/Madrid")),
        ("2026-07-01T09:00:00+02:00", "America/New_York", ("2026-07-01T03:00:00", "America/New_York")),
        ("2026-07-01T09:00:00Z", None, ("2026-07-01T09:00:00Z", "UTC")),
        ("2026-10-25T02:30:00", "Europe/Madrid", ("2026-10-25T00:30:00Z", "UTC")),
        ("2026-10-25T02:30:00+01:00", "Europe/Madrid", ("2026-10-25T01:30:00Z", "UTC")),
    ],
)
def test_start_on_the_wire(start_time: str, timezone: str | None, wire: tuple[str, str]) -> None:
    """ZC31: local time without Z beside its zone, or Z beside UTC; a wall time that comes twice is said in UTC."""
    sent = body(start_time=start_time, timezone=timezone)
    assert (sent["start_time"], sent["timezone"]) == wire


def test_series_on_the_wire() -> None:
    """A series has its own type and Zoom's names."""
    sent = body(recurrence={"type": 2, "weekly_days": "2,4", "end_at": "2026-05-01T00:00:00Z"})
    assert (sent["type"], sent["recurrence"]) == (
        8,
        {"type": 2, "repeat_interval": 1, "weekly_days": "2,4", "end_date_time": "2026-05-01T00:00:00Z"},
    )


@pytest.mark.parametrize("agenda", ["", "Points\nto talk about", "x" * 1900])
def test_key_survives_the_cut_of_a_list(agenda: str) -> None:
    """Lists cut agendas at 250 characters; the key stands before."""
    assert key_of({"agenda": agenda_with(KEY, agenda)[:250]}) == KEY


@pytest.mark.parametrize(
    "agenda",
    [
        "",
        "Planning call",
        f"about [roomkeeper {KEY}]",
        f"Points\n[roomkeeper {KEY}]",
        f"[roomkeeper {KEY}",
        f"[cmd {KEY}]",
    ],
)
def test_decoys_carry_no_key(agenda: str) -> None:
    """Only a first line that is our own counts."""
    assert key_of({"agenda": agenda, "topic": "Planning call"}) is None


def test_key_in_a_tracking_field() -> None:
    """Where the agenda was edited, the tracking field still tells; another field does not."""
    room = {"agenda": "edited", "tracking_fields": [{"field": "rk", "value": KEY}, {"field": "x", "value": "y"}]}
    assert (key_of(room, tracking_field="rk"), key_of(room, tracking_field="x"), key_of(room)) == (KEY, None, None)


def test_tracking_field_is_sent_where_the_account_has_one() -> None:
    """Zoom drops fields that the account does not define, so none is sent unasked."""
    with_field = room_body(details(), key=KEY, tracking_field="rk")
    assert (with_field["tracking_fields"], "tracking_fields" in body()) == ([{"field": "rk", "value": KEY}], False)


@pytest.mark.parametrize(("number", "text"), [(91234567890, "91234567890"), ("91234567890", "91234567890"), (True, "")])
def test_numbers_are_text(number: object, text: str) -> None:
    """A number is a number in some answers and text in others."""
    assert number_of({"id": number}) == text


def answer(sent: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """What Zoom shows of a room that took everything, but for the changes."""
    whole = {**sent, "start_time": "2026-03-20T08:00:00Z", "join_url": "https://example.com/j/1"}
    return whole | changes


def test_room_as_it_was_sent_shows_no_difference() -> None:
    """Zoom's own form of times, line ends and lists of hosts makes none."""
    sent = body(agenda="One\nTwo", settings={"alternative_hosts": "b@example.com;a@example.com"})
    settings = sent["settings"] | {"alternative_hosts": "A@example.com,b@example.com", "audio": "both"}
    shown = shown_by(answer(sent, agenda=sent["agenda"].replace("\n", "\r\n"), settings=settings))
    wanted = details(agenda="One\nTwo", settings={"alternative_hosts": "b@example.com;a@example.com"})
    assert differences(sent, shown, details=wanted, now=NOW) == ()


def test_differences_are_named() -> None:
    """Each detail that Zoom shows otherwise is named, down to single settings."""
    sent = body()
    shown = shown_by(
        answer(
            sent,
            topic="Other",
            duration=30,
            agenda="gone",
            start_time="2026-03-20T09:00:00Z",
            settings=sent["settings"] | {"waiting_room": False},
        )
    )
    assert differences(sent, shown, details=details(), now=NOW) == (
        "topic",
        "duration",
        "agenda",
        "start_time",
        "settings.waiting_room",
    )


def test_start_that_has_passed_is_not_compared() -> None:
    """Zoom moves it as it likes."""
    sent = body()
    shown = shown_by(answer(sent, start_time="2026-03-21T09:00:00Z"))
    assert differences(sent, shown, details=details(), now=datetime(2026, 3, 20, 9, tzinfo=UTC)) == ()


def test_personal_room_is_a_difference() -> None:
    """ZC29: an answer that speaks of the personal room is flagged."""
    sent = body()
    shown = shown_by(answer(sent, pmi=5550001234))
    assert differences(sent, shown, details=details(), now=NOW) == ("settings.use_pmi",)


def test_series_is_compared_by_its_first_date() -> None:
    """A series has no start of its own in Zoom's answer."""
    rule = {"type": 1, "end_times": 2}
    sent = body(recurrence=rule)
    room = answer(sent, occurrences=[{"start_time": "2026-03-21T08:00:00Z"}, {"start_time": "2026-03-20T08:00:00Z"}])
    del room["start_time"]
    assert differences(sent, shown_by(room), details=details(recurrence=rule), now=NOW) == ()


def test_shown_text_holds_no_secret() -> None:
    """Only details that Roomkeeper sets are kept."""
    text = text_of(shown_by(rest("meeting_create.201")))
    assert ("INVENTED" in text, "Weekly planning" in text, ProviderKey(text).isascii()) == (False, True, False)
