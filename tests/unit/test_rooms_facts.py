"""Which fact counts where several tell of the same thing."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.records.zoom_events import ZoomEvent
from schemas.rooms.entry import entry_key
from tests.rooms import (
    ACCOUNT,
    U1,
    M,
    Rooms,
    at,
    body,
    iso,
    ms,
    observed,
    person,
    updated,
)
from zoom.observations import Asked, observation


def polled(seconds: float, *, elapsed: float = 0.2, date: float | None = None, **answer: Any) -> ZoomEvent:
    """A GET of the room with the times of its call."""
    asked = Asked(sent_at=at(seconds), elapsed_seconds=elapsed, status=200, date=None if date is None else at(date))
    return observation(
        "meeting", account_id=ACCOUNT, zoom_id=M, asked=asked, answer=answer, received_at=at(seconds + 60)
    )


@pytest.mark.parametrize(("poll", "wins"), [(polled(104, topic="polled"), False), (polled(106, topic="polled"), True)])
def test_a_poll_counts_five_seconds_before_it_was_sent(poll: ZoomEvent, wins: bool) -> None:
    """What a lagging replica may have answered does not beat a webhook of that time."""
    rooms = Rooms([updated(100, topic="told"), poll])
    assert rooms.view().details["topic"] == ("polled" if wins else "told")


def test_a_poll_counts_by_zooms_clock_where_that_is_earlier() -> None:
    """Our clock is a minute ahead: the answer's date, less the time it took, tells when it was asked."""
    rooms = Rooms([updated(100, topic="told"), polled(170, elapsed=3, date=107, topic="polled")])
    assert rooms.view().details["topic"] == "told"


def test_a_webhook_outranks_a_poll_of_the_same_moment() -> None:
    """At equal times Zoom's own word stands."""
    events: list[Any] = [updated(100, topic="told"), polled(105, topic="polled")]
    for order in (events, events[::-1]):
        assert Rooms(order).view().details["topic"] == "told"


def test_an_echo_never_beats_the_rooms_own_word() -> None:
    """A later `started` echoes an old topic; the host it names is current."""
    events = [
        body("meeting.created", 0, topic="own", host_id="h1"),
        body("meeting.started", 9, topic="echo", host_id="h2"),
    ]
    details = Rooms(events).view().details
    assert details["topic"] == "own"
    assert Rooms(events).entries[entry_key(ACCOUNT, M)].text("host_id") == "h2"


def test_an_update_counts_as_of_its_time_stamp() -> None:
    """Two updates delivered with crossed event times are ordered by when they were made."""
    newer, older = updated(20, topic="newer"), updated(10, topic="older")
    older["event_ts"] = ms(30)
    assert Rooms([newer, older]).view().details["topic"] == "newer"


def test_a_fact_without_a_time_sorts_before_all() -> None:
    """A deletion without `event_ts` loses to anything with a time, and counts where there is nothing else."""
    untimed = body("meeting.deleted", None)
    assert Rooms([untimed]).view().existence == "deleted"
    assert Rooms([untimed, body("meeting.started", 0)]).view().existence == "exists"


@pytest.mark.parametrize(
    ("events", "start"),
    [
        ([person("joined", 9, "1", start=3), person("joined", 9, "2", start=2)], 2),
        ([person("joined", 9, "1", start=3), observed("past_instance", 50, {"start_time": iso(4)}, uuid=U1)], 4),
        (
            [
                observed("past_instance", 50, {"start_time": iso(4)}, uuid=U1),
                body("meeting.ended", 9, start_time=iso(5)),
            ],
            5,
        ),
        ([body("meeting.alert", 8, issues=["x"], start_time=iso(2)), body("meeting.ended", 9, start_time=iso(5))], 5),
        ([body("meeting.ended", 9, start_time=iso(5)), body("meeting.started", 6, start_time=iso(6))], 6),
        ([body("meeting.started", 7, start_time=iso(7)), body("meeting.started", 6, start_time=iso(6))], 6),
        ([body("meeting.started", 7, start_time="")], 7),
    ],
)
def test_a_start_is_told_best_by_started(events: list[Any], start: int) -> None:
    """Started > ended > past meeting > participant; among equals the earliest."""
    for order in (events, events[::-1]):
        assert Rooms(order).runs()[U1].started_at == ms(start)


@pytest.mark.parametrize(
    ("events", "end"),
    [
        (
            [
                body("meeting.ended", 60, end_time=iso(58)),
                observed("past_meeting", 900, {"end_time": iso(59)}, uuid=U1),
            ],
            58,
        ),
        ([body("meeting.ended", 60, end_time=iso(58)), body("meeting.ended", 61, end_time=iso(57))], 57),
        ([body("meeting.ended", 60, end_time="")], 60),
        ([observed("past_meeting", 900, {"end_time": iso(59)}, uuid=U1)], 59),
    ],
)
def test_an_end_is_told_best_by_a_webhook(events: list[Any], end: int) -> None:
    """Webhook over poll, then the later statement."""
    for order in (events, events[::-1]):
        run = Rooms(order).runs()[U1]
        assert (run.status, run.ended_at) == ("ended", ms(end))


def test_waiting_for_the_host_is_no_start() -> None:
    """Who waits before the host or in the lobby is known, and no run begins by it."""
    waiting = [person("jbh_waiting", 5, "", customer_key="k1"), person("joined_waiting_room", 6, "7")]
    rooms = Rooms(waiting)
    assert rooms.runs()[U1].status == "unknown"
    assert [each.in_lobby for each in rooms.connections()] == [True, True]
    assert rooms.attendance()[0].seconds == 0
    rooms.hear(person("jbh_joined", 9, "", customer_key="k1"))
    assert [each.in_lobby for each in rooms.connections() if each.user_id == "~customer_key:k1"] == [False]


def test_lists_of_a_host_know_less_than_the_room() -> None:
    """A cut agenda and the start of some date of a series are no news."""
    told = body("meeting.created", 0, type=8, agenda="x" * 400)
    listed = observed(
        "listed_meeting", 100, {"type": 8, "agenda": "x" * 250, "start_time": iso(86_400), "topic": "new"}
    )
    details = Rooms([told, listed]).view().details
    assert (len(details["agenda"]), details["start_time"], details["topic"]) == (400, iso(0), "new")
