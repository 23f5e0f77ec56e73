"""The lag rules: one table, a pure function each, from what is known of a room to how late it is.

A rule says since when something is overdue, and by what figures; it holds once that is longer ago than its threshold.
The threshold is a setting, each rule counts under its own name, and each says what is to be asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from reconciler.poller import findings
from reconciler.poller.facts import RoomFacts
from reconciler.poller.findings import Finding, Overdue, runs_to_compare
from runtime.settings import PollerSettings


class Ask(Enum):
    """What can be asked about a room."""

    ROOM = "room"
    """The room itself: whether it is there, its settings, whether it is in use."""
    PAST = "past"
    """The list of its past runs, and of each what is not known yet."""
    RUNS = "runs"
    """Past data of single runs: the end, and who attended."""


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
    """Whether it may be asked about now; else it was, and the pause is not over."""


def held_rules(facts: RoomFacts, now: datetime, settings: PollerSettings) -> list[Held]:
    """The rules that hold for a room, the worst first."""
    held = [each for rule in RULES if (each := _held(rule, facts, now, settings)) is not None]
    return sorted(held, key=lambda each: -each.badness)


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


_ROOM, _ROOM_AND_PAST, _RUNS = frozenset({Ask.ROOM}), frozenset({Ask.ROOM, Ask.PAST}), frozenset({Ask.RUNS, Ask.PAST})

RULES: tuple[Rule, ...] = (
    Rule(
        name="should_have_started",
        says="A date has begun, and no run of it was heard of.",
        finds=findings.should_have_started,
        threshold=lambda settings: settings.start_seconds,
        setting="start_seconds",
        asks=_ROOM_AND_PAST,
        weight=3.0,
    ),
    Rule(
        name="running_too_long",
        says="A run has no end, long after the end it should have had.",
        finds=findings.running_too_long,
        threshold=lambda settings: settings.overrun_seconds,
        setting="overrun_seconds",
        asks=_ROOM_AND_PAST,
        weight=4.0,
    ),
    Rule(
        name="never_heard_of",
        says="A room was made for a meeting, and no webhook ever told of it.",
        finds=findings.never_heard_of,
        threshold=lambda settings: settings.unheard_seconds,
        setting="unheard_seconds",
        asks=_ROOM,
        again_seconds=(21_600.0, 86_400.0),
    ),
    Rule(
        name="changed",
        says="The host's list shows it otherwise than it is known, or a webhook told of a change and not of what.",
        finds=findings.changed,
        threshold=lambda settings: settings.changed_seconds,
        setting="changed_seconds",
        asks=_ROOM,
        weight=2.0,
    ),
    Rule(
        name="settings_unread",
        says="A date begins within a day, and the settings, which no list shows, were not read for long.",
        finds=findings.settings_unread,
        threshold=lambda settings: settings.settings_seconds,
        setting="settings_seconds",
        asks=_ROOM,
        again_seconds=(3_600.0, 86_400.0),
        weight=0.5,
    ),
    Rule(
        name="deleted",
        says="The host's whole list does not show the room, or Zoom did not know it when last asked.",
        finds=findings.deleted,
        threshold=lambda settings: settings.deleted_seconds,
        setting="deleted_seconds",
        asks=_ROOM,
        again_seconds=(0.0, 0.0),
        weight=2.0,
    ),
    Rule(
        name="open_connection",
        says="A run is over, and somebody's stay in it has no end.",
        finds=findings.open_connection,
        threshold=lambda settings: settings.open_seconds,
        setting="open_seconds",
        asks=_RUNS,
        weight=2.0,
    ),
    Rule(
        name="unread_past",
        says="A run is over, and Zoom's list of past runs, which may have more of them, was not read since.",
        finds=findings.unread_past,
        threshold=lambda settings: settings.past_seconds,
        setting="past_seconds",
        asks=_RUNS,
    ),
    Rule(
        name="unheard_run",
        says="In use of late, and its past runs, of which one may never have been told of, were not listed for long.",
        finds=findings.unheard_run,
        threshold=lambda settings: settings.recheck_seconds,
        setting="recheck_seconds",
        asks=frozenset({Ask.PAST}),
        again_seconds=(3_600.0, 86_400.0),
        weight=0.25,
    ),
    Rule(
        name="webhook_gap",
        says="The host or the account is silent against its own habit, and the room should be in use.",
        finds=findings.webhook_gap,
        threshold=lambda settings: settings.gap_seconds,
        setting="gap_seconds",
        asks=_ROOM_AND_PAST,
        again_seconds=(600.0, 3_600.0),
        weight=2.0,
    ),
)
"""Every rule, in the order of the docs."""
