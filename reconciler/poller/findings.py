"""What may be overdue about a room, and since when: a pure function for each rule of the table in `rules`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.poller.facts import RoomFacts, RunFacts, Span
from runtime.settings import PollerSettings

EARLY = timedelta(hours=1)
"""A run that began so long before a date's start may be that date's."""
DAY = timedelta(days=1)
MISSING_BUCKET_SECONDS = 300
"""Of the 404s in one such bucket of time the fold keeps one: asking twice in it is in vain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """What is late."""

    since: datetime
    why: str
    """For people."""


Finding = Overdue | None


def runs_to_compare(facts: RoomFacts, now: datetime, settings: PollerSettings) -> list[RunFacts]:
    """Runs whose comparison with Zoom's past data is due."""
    return [run for run in facts.runs if _comparable(facts, run, now, settings) and _run_due(run, now)]


def should_have_started(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    """The start of a date of which no run was heard of."""
    span = facts.span_before(now)
    if facts.is_gone or span is None or now - span.end_at > timedelta(seconds=settings.horizon_seconds):
        return None
    if any(_is_of(run, span) for run in facts.runs):
        return None
    past = facts.visit.past_read_at
    if past is not None and past > span.end_at + DAY:
        return None  # it was not used, and Zoom's list of past runs says so
    return Overdue(since=span.start_at, why=f"was to start at {_text(span.start_at)}, and no start was heard of")


def running_too_long(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    """The end that a run without one should have had."""
    if facts.existence == "gone_unconfirmed":
        return None
    oldest = now - timedelta(seconds=settings.horizon_seconds)
    found = [
        Overdue(since=since, why=f"run {run.uuid} should have been over at {_text(since)}, and no end was heard of")
        for run in facts.runs
        if not run.end_told and not run.settled and run.status != "unknown"
        if (since := _expected_end(facts, run)) is not None and since > oldest
    ]
    return min(found, key=lambda each: each.since, default=None)


def never_heard_of(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    """The making of a room of which no webhook told."""
    if facts.is_gone or facts.ready_at is None or facts.last_seen_at is not None:
        return None
    if now - facts.ready_at > DAY + timedelta(seconds=settings.unheard_seconds):
        return None
    return Overdue(since=facts.ready_at, why=f"asked for at {_text(facts.ready_at)}, and no webhook told of it ever")


def changed(facts: RoomFacts, now: datetime, _: PollerSettings) -> Finding:
    """The moment from which a room is known to be otherwise than it is known."""
    if facts.is_gone:
        return None
    if facts.visit.suspicion == "changed" and facts.visit.suspected_at is not None:
        return Overdue(since=facts.visit.suspected_at, why="the host's list shows it otherwise than it is known")
    if facts.wants_get:
        return Overdue(since=facts.last_seen_at or now, why="a webhook told of a change, and not of what")
    return None


def settings_unread(facts: RoomFacts, now: datetime, _: PollerSettings) -> Finding:
    """The newest reading of settings before a date of the coming day."""
    coming = next((span for span in facts.spans if span.start_at > now), None)
    if facts.is_gone or coming is None or coming.start_at - now > DAY:
        return None
    read = facts.visit.got_at or facts.ready_at or coming.start_at - DAY - DAY
    return Overdue(since=read, why=f"starts at {_text(coming.start_at)}; its settings were read at {_text(read)}")


def deleted(facts: RoomFacts, now: datetime, _: PollerSettings) -> Finding:
    """The newest sign that the room is not there."""
    visit = facts.visit
    if facts.is_gone:
        return None
    if visit.missing_at is not None and (facts.last_seen_at or visit.missing_at) <= visit.missing_at:
        if _bucket(visit.missing_at) == _bucket(now):
            return None
        return Overdue(since=visit.missing_at, why=f"Zoom did not know it at {_text(visit.missing_at)}")
    if visit.suspicion == "missing" and visit.suspected_at is not None:
        return Overdue(since=visit.suspected_at, why="the host's whole list does not show it")
    return None


def open_connection(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    """The end of a run in which somebody's stay has none."""
    return _first(
        [run for run in facts.runs if run.open_connections and _comparable(facts, run, now, settings)],
        "run {} is over, and somebody's stay in it has no end",
    )


def unread_past(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    """The end of a run that was not compared with Zoom's past data."""
    return _first(
        [run for run in facts.runs if _comparable(facts, run, now, settings)],
        "run {} is over, and was not compared with Zoom's past runs",
    )


def unheard_run(facts: RoomFacts, now: datetime, settings: PollerSettings) -> Finding:
    """The newest reading of the past runs of a room that is in use."""
    read, horizon = facts.visit.past_read_at, timedelta(seconds=settings.horizon_seconds)
    if facts.is_gone or read is None or not any(run.ended_at and now - run.ended_at < horizon for run in facts.runs):
        return None
    return Overdue(since=read, why=f"Zoom's list of its past runs was read at {_text(read)}")


def webhook_gap(facts: RoomFacts, now: datetime, _: PollerSettings) -> Finding:
    """The beginning of a silence in which the room should be in use."""
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
    least_seconds = min(settings.open_seconds, settings.past_seconds)
    if run.ended_at is None or run.settled or facts.past_refused or facts.existence == "gone_unconfirmed":
        return False
    return least_seconds <= (now - run.ended_at).total_seconds() <= settings.horizon_seconds


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
