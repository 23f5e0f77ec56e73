"""Reading Zoom's webhook logs by stretches of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from reconciler.poller.webhook_logs import EDGE, KEPT, SHORTEST, Place, delivery_of

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@given(crowded=st.lists(st.integers(0, 7 * 86_400), max_size=4), pauses=st.lists(st.integers(0, 900), max_size=40))
def test_stretches_leave_no_gap_and_reach_the_present(crowded: list[int], pauses: list[int]) -> None:
    """Whatever is crowded and however time passes, stretches join, never reach too far back, and end at now."""
    now, place = NOW, Place.first(NOW)
    waits = iter(pauses)
    steps, reached = 0, NOW - KEPT + EDGE
    while place.read_until < now:
        stretch = place.stretch(now)
        assert now - KEPT < stretch.since <= max(reached, now - KEPT + EDGE)
        assert reached < stretch.until <= now
        busy = any(stretch.since <= NOW - timedelta(seconds=each) <= stretch.until for each in crowded)
        if busy and not place.is_narrowest:
            place = place.narrower()
        else:
            place, reached = place.past(stretch), stretch.until
        steps += 1
        now += timedelta(seconds=next(waits, 0)) if reached < now else timedelta(0)
    assert (reached, steps < 500) == (now, True)


def test_a_long_absence_is_made_up_from_seven_days_back() -> None:
    """What the logs no longer show is not asked for."""
    stretch = Place(read_until=NOW - timedelta(days=30), span=SHORTEST).stretch(NOW)
    assert stretch.since == NOW - KEPT + EDGE


def test_an_entry_is_read_in_any_shape() -> None:
    """The header's id outranks the log's own; what has no body, no id or no shape is none."""
    entry = {"request_body": "{}", "request_id": "b", "request_headers": '{"X-Zm-Request-Id": "a"}', "date_time": "?"}
    entries: list[object] = [
        entry,
        entry | {"request_headers": "no json"},
        entry | {"request_headers": {"x-zm-request-id": "c"}},
        entry | {"request_headers": None, "request_id": ""},
        entry | {"request_body": None},
        [],
    ]
    found = [delivery_of(each, now=NOW) for each in entries]
    assert [each and (each.request_id, each.raw, each.failed_at) for each in found] == [
        ("a", b"{}", NOW),
        ("b", b"{}", NOW),
        ("c", b"{}", NOW),
        None,
        None,
        None,
    ]
