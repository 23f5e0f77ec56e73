"""The lag rules: one table, a pure function each, from what is known of a room to how late it is.

A rule says since when something is overdue, and by what figures; it holds once that is longer ago than its threshold.
The threshold is a setting, each rule counts under its own name, and each says what is to be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from reconciler.poller.facts import RoomFacts, RunFacts, Span
from runtime.settings import PollerSettings

EARLY = timedelta(hours=1)
"""A run that began so long before a date's start may be that date's."""
DAY = timedelta(days=1)
MISSING_BUCKET_SECONDS = 300
"""Of the 404s in one such bucket of time the fold keeps one: asking twice in it is in vain."""


class Ask(Enum):
    """What can be asked about a room."""

    ROOM = "room"
    """The room itself: whether it is there, its settings, whether it is in use."""
    PAST = "past"
    """The list of its past runs, and of each what is not known yet."""
    RUNS = "runs"
    """Past data of single runs: the end, and who attended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """What is late."""

    since: datetime
    why: str
    """For people."""


Finding = Overdue | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One line of the table."""

    name: str
    says: str
    finds: Callable[[RoomFacts, datetime, PollerSettings], Finding]
    threshold: Callable[[PollerSettings], float]
    setting: str
    """Name of the setting that is the threshold."""
    asks: frozenset[Ask]
    again_seconds: tuple[float, float] = (240.0, 3_600.0)
    """While it goes on to hold: first and longest time to the next visit, doubling."""
    weight: float = 1.0
    """How much a delay of one threshold counts beside that of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A rule that holds."""

    rule: Rule
    overdue: Overdue
    late_seconds: float
    """Beyond the threshold."""
    badness: float
    due: bool
    """Whether it may be asked about now; else it was, a moment ago."""


def held_rules(facts: RoomFacts, now: datetime, settings: PollerSettings) -> list[Held]:
    """The rules that hold for a room, the worst first."""
    held = [each for rule in RULES if (each := _held(rule, facts, now, settings)) is not None]
    return sorted(held, key=lambda each: -each.badness)


def runs_to_compare(facts: RoomFacts, now: datetime, settings: PollerSettings) -> list[RunFacts]:
    """Runs whose comparison with Zoom's past data is due."""
    return [run for run in facts.runs if _comparable(facts, run, now, settings) and _run_due(run, now)]


def _held(rule: Rule, facts: RoomFacts, now: datetime, settings: PollerSettings) -> Held | None:
    overdue = rule.finds(facts, now, settings)
    if overdue is None:
        return None
    threshold = rule.threshold(settings)
    late = (now - overdue.since).total_seconds() - threshold
    if late < 0:
        return None
    visit = facts.visit
    waits = rule.name in visit.rules and visit.next_at is not None and visit.next_at > now
    due = not waits if Ask.RUNS not in rule.asks else bool(runs_to_compare(facts, now, settings))
    badness = rule.weight * (1 + late / max(threshold, 60.0))
    return Held(rule=rule, overdue=overdue, late_seconds=late, badness=badness, due=due)


def _should_have_started(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    span = facts.span_before(now)
    if facts.is_gone or span is None or now - span.end_at > timedelta(seconds=settings.horizon_seconds):
        return None
    if any(_is_of(run, span) for run in facts.runs):
        return None
    past = facts.visit.past_read_at
    if past is not None and past > span.end_at + DAY:
        return None  # it was not used, and Zoom's list of past runs says so
    return Overdue(since=span.start_at, why=f"was to start at {_text(span.start_at)}, and no start was heard of")


def _running_too_long(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    oldest = now - timedelta(seconds=settings.horizon_seconds)
    found = [
        Overdue(since=since, why=f"run {run.uuid} should have been over at {_text(since)}, and no end was heard of")
        for run in facts.runs
        if not run.end_told and not run.settled and run.status != "unknown"
        if (since := _expected_end(facts, run)) is not None and since > oldest
    ]
    return min(found, key=lambda each: each.since, default=None)


def _never_heard_of(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    if facts.is_gone or facts.ready_at is None or facts.last_seen_at is not None:
        return None
    if now - facts.ready_at > DAY + timedelta(seconds=settings.unheard_seconds):
        return None
    return Overdue(since=facts.ready_at, why=f"asked for at {_text(facts.ready_at)}, and no webhook told of it ever")


def _changed(facts: RoomFacts, now: datetime, _: PollerSettings) -> Finding:
    if facts.is_gone:
        return None
    if facts.visit.suspicion == "changed" and facts.visit.suspected_at is not None:
        return Overdue(since=facts.visit.suspected_at, why="the host's list shows it otherwise than it is known")
    if facts.wants_get:
        return Overdue(since=facts.last_seen_at or now, why="a webhook told of a change, and not of what")
    return None


def _settings_unread(facts: RoomFacts, now: datetime, _: PollerSettings) -> Finding:
    coming = next((span for span in facts.spans if span.start_at > now), None)
    if facts.is_gone or coming is None or coming.start_at - now > DAY:
        return None
    read = facts.visit.got_at or facts.ready_at or coming.start_at - DAY - DAY
    return Overdue(since=read, why=f"starts at {_text(coming.start_at)}; its settings were read at {_text(read)}")


def _deleted(facts: RoomFacts, now: datetime, _: PollerSettings) -> Finding:
    visit = facts.visit
    if facts.is_gone:
        return None
    if visit.missing_at is not None:
        if (facts.last_seen_at or visit.missing_at) > visit.missing_at or _bucket(visit.missing_at) == _bucket(now):
            return None
        return Overdue(since=visit.missing_at, why=f"Zoom did not know it at {_text(visit.missing_at)}")
    if visit.suspicion == "missing" and visit.suspected_at is not None:
        return Overdue(since=visit.suspected_at, why="the host's whole list does not show it")
    return None


def _open_connection(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    return _first(
        [run for run in facts.runs if run.open_connections and _comparable(facts, run, now, settings)],
        "run {} is over, and somebody's stay in it has no end",
    )


def _unread_past(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    return _first(
        [run for run in facts.runs if _comparable(facts, run, now, settings)],
        "run {} is over, and was not compared with Zoom's past runs",
    )


def _webhook_gap(facts: RoomFacts, now: datetime, _: PollerSettings) -> Finding:
    since = facts.silent_since
    if facts.is_gone or since is None:
        return None
    in_use = any(span.start_at <= now and span.end_at >= since for span in facts.spans)
    in_use = in_use or any(run.status == "started" for run in facts.runs)
    return Overdue(since=since, why=f"its host or account is silent since {_text(since)}") if in_use else None


def _first(runs: Sequence[RunFacts], why: str) -> Finding:
    ended = sorted((run.ended_at, run.uuid) for run in runs if run.ended_at is not None)
    return Overdue(since=ended[0][0], why=why.format(ended[0][1])) if ended else None


def _comparable(facts: RoomFacts, run: RunFacts, now: datetime, settings: PollerSettings) -> bool:
    """Whether the run is over, recent, and not yet compared with Zoom's past data."""
    if run.ended_at is None or run.settled or facts.past_refused or facts.existence == "gone_unconfirmed":
        return False
    return settings.past_seconds <= (now - run.ended_at).total_seconds() <= settings.horizon_seconds


def _run_due(run: RunFacts, now: datetime) -> bool:
    return run.next_at is None or run.next_at <= now


def _is_of(run: RunFacts, span: Span) -> bool:
    """Whether the run may be the one of that date, or came after it."""
    if run.status == "unknown":
        return False
    return run.started_at is None or run.started_at >= span.start_at - EARLY


def _expected_end(facts: RoomFacts, run: RunFacts) -> datetime | None:
    """When a run without an end should have been over: at its date's end, and not before its own length is over."""
    if run.ended_at is not None:
        return run.ended_at  # another run has begun since
    span = facts.span_before(run.started_at + EARLY) if run.started_at else next(iter(reversed(facts.spans)), None)
    if span is None:
        return run.started_at
    if run.started_at is None:
        return span.end_at
    return max(span.end_at, run.started_at)


def _bucket(at: datetime) -> int:
    return int(at.timestamp()) // MISSING_BUCKET_SECONDS


def _text(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


_ROOM, _ROOM_AND_PAST, _RUNS = frozenset({Ask.ROOM}), frozenset({Ask.ROOM, Ask.PAST}), frozenset({Ask.RUNS, Ask.PAST})

RULES: tuple[Rule, ...] = (
    Rule(
        name="should_have_started",
        says="A date has begun, and no run of it was heard of.",
        finds=_should_have_started,
        threshold=lambda settings: settings.start_seconds,
        setting="start_seconds",
        asks=_ROOM_AND_PAST,
        weight=3.0,
    ),
    Rule(
        name="running_too_long",
        says="A run has no end, long after the end it should have had.",
        finds=_running_too_long,
        threshold=lambda settings: settings.overrun_seconds,
        setting="overrun_seconds",
        asks=_ROOM_AND_PAST,
        weight=4.0,
    ),
    Rule(
        name="never_heard_of",
        says="A room was made for a meeting, and no webhook ever told of it.",
        finds=_never_heard_of,
        threshold=lambda settings: settings.unheard_seconds,
        setting="unheard_seconds",
        asks=_ROOM,
        again_seconds=(21_600.0, 86_400.0),
    ),
    Rule(
        name="changed",
        says="The host's list shows it otherwise than it is known, or a webhook told of a change and not of what.",
        finds=_changed,
        threshold=lambda _: 0.0,
        setting="",
        asks=_ROOM,
        weight=2.0,
    ),
    Rule(
        name="settings_unread",
        says="A date begins within a day, and the settings, which no list shows, were not read for long.",
        finds=_settings_unread,
        threshold=lambda settings: settings.settings_seconds,
        setting="settings_seconds",
        asks=_ROOM,
        again_seconds=(3_600.0, 86_400.0),
        weight=0.5,
    ),
    Rule(
        name="deleted",
        says="The host's whole list does not show the room, or Zoom did not know it when last asked.",
        finds=_deleted,
        threshold=lambda _: 0.0,
        setting="",
        asks=_ROOM,
        again_seconds=(0.0, 0.0),
        weight=2.0,
    ),
    Rule(
        name="open_connection",
        says="A run is over, and somebody's stay in it has no end.",
        finds=_open_connection,
        threshold=lambda settings: settings.past_seconds,
        setting="past_seconds",
        asks=_RUNS,
        weight=2.0,
    ),
    Rule(
        name="unread_past",
        says="A run is over, and Zoom's list of past runs, which may have more of them, was not read since.",
        finds=_unread_past,
        threshold=lambda settings: settings.past_seconds,
        setting="past_seconds",
        asks=_RUNS,
    ),
    Rule(
        name="webhook_gap",
        says="The host or the account is silent against its own habit, and the room should be in use.",
        finds=_webhook_gap,
        threshold=lambda settings: settings.gap_seconds,
        setting="gap_seconds",
        asks=_ROOM_AND_PAST,
        again_seconds=(600.0, 3_600.0),
        weight=2.0,
    ),
)
"""Every rule, in the order of the docs."""
