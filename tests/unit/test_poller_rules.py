"""The lag rules, the choice of rooms and the pauses: pure functions of what is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reconciler.poller.choosing import choice, next_visit, worst_first
from reconciler.poller.facts import RoomFacts, RunFacts, Span, Visit
from reconciler.poller.habits import chance_of_silence, slot_of
from reconciler.poller.listing import listed_otherwise
from reconciler.poller.past import RunCompared, next_comparison
from reconciler.poller.rules import RULES, Ask, held_rules
from runtime.settings import PollerSettings

SETTINGS = PollerSettings()
START = datetime(2026, 3, 10, 10, tzinfo=UTC)
END = START + timedelta(hours=1)


def at(**duration: float) -> datetime:
    """So long after the start."""
    return START + timedelta(**duration)


def room(**known: Any) -> RoomFacts:
    """A room that is used from ten to eleven, and of which everything was told so far."""
    facts = RoomFacts(
        account_id="a",
        zoom_id="91000000001",
        existence="exists",
        ready_at=None,
        last_seen_at=at(days=-2),
        wants_get=False,
        spans=[Span(start_at=START, end_at=END)],
        runs=[],
        visit=Visit(got_at=at(hours=-1)),
    )
    return replace(facts, **known)


def run(**known: Any) -> RunFacts:
    """A run that began at ten and goes on."""
    facts = RunFacts(
        uuid="u1",
        status="started",
        started_at=START,
        ended_at=None,
        end_told=False,
        end_polled=False,
        open_connections=False,
    )
    return replace(facts, **known)


OVER = run(status="ended", ended_at=at(minutes=30), end_told=True)


SETTLED = replace(OVER, outcome="settled")
READ = Visit(got_at=at(hours=-1), past_read_at=at(hours=1))

ONCE_MISSING = Visit(got_at=at(hours=-1), missing_at=at(minutes=-20))
MISSING_AGAIN = replace(ONCE_MISSING, suspicion="missing", suspected_at=at(minutes=-5))


def names(facts: RoomFacts, now: datetime) -> list[str]:
    """Rules that hold and are due."""
    chosen = choice(facts, now=now, settings=SETTINGS)
    return chosen.rules if chosen else []


@pytest.mark.parametrize(
    ("facts", "now", "expected"),
    [
        (room(), at(minutes=9), []),
        (room(), at(minutes=11), ["should_have_started"]),
        (room(runs=[run()]), at(minutes=11), []),
        (
            room(runs=[run(started_at=at(days=-7), ended_at=at(days=-8), status="ended", end_told=True)]),
            at(minutes=11),
            ["should_have_started"],
        ),
        (room(existence="deleted"), at(minutes=11), []),
        (room(existence="gone_unconfirmed", runs=[OVER]), at(minutes=40), []),
        (room(runs=[run()]), at(minutes=74), []),
        (room(runs=[run()]), at(minutes=76), ["running_too_long"]),
        (room(runs=[OVER]), at(minutes=31), []),
        (room(runs=[OVER]), at(minutes=35), ["unread_past"]),
        (room(runs=[replace(OVER, open_connections=True)]), at(minutes=35), ["open_connection", "unread_past"]),
        (room(runs=[replace(OVER, outcome="settled", open_connections=True)]), at(minutes=35), []),
        (room(runs=[OVER], past_refused=True), at(minutes=35), []),
        (room(runs=[OVER]), at(days=8), []),
        (room(ready_at=at(hours=-3), last_seen_at=None), at(minutes=-1), ["never_heard_of"]),
        (room(ready_at=at(minutes=-30), last_seen_at=None), at(minutes=-1), []),
        (room(wants_get=True), at(minutes=-1), ["changed"]),
        (room(visit=Visit(got_at=at(days=-1, minutes=-5))), at(minutes=-1), ["settings_unread"]),
        (
            room(visit=Visit(got_at=at(hours=-1), suspicion="missing", suspected_at=at(minutes=-9))),
            at(minutes=-1),
            ["deleted"],
        ),
        (room(visit=Visit(got_at=at(hours=-1), missing_at=at(minutes=-6))), at(minutes=-1), ["deleted"]),
        (room(visit=Visit(got_at=at(hours=-1), missing_at=at(minutes=-3))), at(minutes=-1), []),
        (room(runs=[SETTLED], visit=READ), at(hours=24), []),
        (room(runs=[SETTLED], visit=READ), at(hours=26), ["unheard_run"]),
        (room(runs=[SETTLED], visit=READ), at(days=8), []),
        (room(existence="deleted", runs=[run()]), at(minutes=76), ["running_too_long"]),
        (room(existence="gone_unconfirmed", runs=[run()]), at(minutes=76), []),
        (room(last_seen_at=at(minutes=-10), visit=ONCE_MISSING), at(minutes=-1), []),
        (room(last_seen_at=at(minutes=-10), visit=MISSING_AGAIN), at(minutes=-1), ["deleted"]),
        (room(silent_since=at(hours=-1)), at(minutes=1), ["webhook_gap"]),
        (room(silent_since=at(hours=-1)), at(minutes=-1), []),
    ],
)
def test_rules_hold_when_they_should(facts: RoomFacts, now: datetime, expected: list[str]) -> None:
    """Each rule holds past its threshold and not before, and never about what is gone, settled, refused or long ago."""
    assert names(facts, now) == expected


def test_the_same_rules_are_asked_about_ever_more_seldom() -> None:
    """Pauses double up to the longest; another rule does not wait for them."""
    facts, now, pauses = room(), at(minutes=11), []
    for times in range(7):
        chosen = choice(
            replace(facts, visit=Visit(rules=("should_have_started",), times=times)), now=now, settings=SETTINGS
        )
        assert chosen is not None
        pauses.append((next_visit(chosen, now=now) - now).total_seconds())
    waiting = Visit(rules=("never_heard_of",), next_at=at(hours=9), times=1)
    asked = Visit(rules=("should_have_started",), next_at=at(hours=1), times=1)
    assert pauses == [240, 480, 960, 1920, 3600, 3600, 3600]
    assert [names(replace(facts, visit=visit), now) for visit in (waiting, asked)] == [["should_have_started"], []]


def test_the_worst_come_first() -> None:
    """A room that is later by more thresholds comes before one that is a little late."""
    little, much = room(zoom_id="1"), room(zoom_id="2", spans=[Span(start_at=at(hours=-9), end_at=at(hours=-8))])
    order = worst_first([little, much], now=at(minutes=11), settings=SETTINGS)
    assert [chosen.facts.zoom_id for chosen in order] == ["2", "1"]


def test_each_rule_has_a_threshold_of_its_own() -> None:
    """No two rules share a name or a setting, and each waits as long as its setting says."""
    settings = [rule.setting for rule in RULES]
    assert len(set(settings)) == len({rule.name for rule in RULES}) == len(RULES)
    assert [rule.threshold(SETTINGS) for rule in RULES] == [getattr(SETTINGS, name) for name in settings]


def test_gone_room_is_asked_for_its_runs_alone() -> None:
    """A deleted room is not asked about, whatever rule holds; the run that has no end is."""
    chosen = choice(room(existence="deleted", runs=[run()]), now=at(minutes=76), settings=SETTINGS)
    assert chosen is not None
    assert chosen.asks == {Ask.RUNS}


def test_why_says_the_figures() -> None:
    """A rule that holds says since when, and how late that is beyond its threshold."""
    (held,) = held_rules(room(), at(minutes=12), SETTINGS)
    assert (held.rule.name, held.late_seconds, "2026-03-10 10:00:00" in held.overdue.why) == (
        "should_have_started",
        120,
        True,
    )


@pytest.mark.parametrize(
    ("outcome", "times", "remembered", "seconds"),
    [
        ("settled", 1, "settled", None),
        ("too_old", 1, "too_old", None),
        ("refused", 1, "refused", 86_400),
        ("not_yet", 1, "not_yet", 240),
        ("unprocessed", 3, "unprocessed", 960),
        ("not_yet", 9, "not_yet", 3_600),
        ("not_yet", 12, "given_up", None),
    ],
)
def test_past_data_is_asked_for_again_when_it_makes_sense(
    outcome: Any, times: int, remembered: str, seconds: float | None
) -> None:
    """What is not there yet comes again, what the plan refuses waits a day, and what is final never comes again."""
    compared = RunCompared(uuid="u1", outcome=outcome, endpoint="past")
    found, next_at = next_comparison(compared, times=times, now=START, settings=SETTINGS)
    assert (found, None if next_at is None else (next_at - START).total_seconds()) == (remembered, seconds)


def test_a_silence_is_as_likely_as_its_hours_are_silent() -> None:
    """Two hours that are always heard make a silence unlikely; hours of which nothing is known do not."""
    slots = {str(slot_of(START)): (20, 20), str(slot_of(END)): (20, 20)}
    chances = [chance_of_silence(START, at(hours=hours), slots) for hours in (0.5, 2, 9)]
    assert [round(chance, 3) for chance in chances] == [0.218, 0.002, 0.002]
    assert chance_of_silence(START, at(days=6), {}) == 1.0
    assert (slot_of(START), slot_of(at(days=4))) == (10, 34)


def test_lists_are_compared_by_what_they_show() -> None:
    """Agendas are cut in lists, a series shows some date's start, and a changed topic is a change."""
    known = {
        "type": 8,
        "topic": "A",
        "agenda": "x" * 600,
        "start_time": "2026-03-10T10:00:00Z",
        "settings": {"host_video": True},
    }
    item = {"type": 8, "topic": "A", "agenda": "x" * 250, "start_time": "2026-03-17T10:00:00Z"}
    assert listed_otherwise(item, known) == ()
    assert listed_otherwise({**item, "topic": "B", "type": 2}, known) == ("start_at", "topic")
