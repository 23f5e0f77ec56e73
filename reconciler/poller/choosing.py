"""Which rooms a pass asks about, and when each is asked about again: pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.poller.facts import RoomFacts
from reconciler.poller.rules import Ask, Held, held_rules
from runtime.settings import PollerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A room to ask about."""

    facts: RoomFacts
    held: Sequence[Held]
    """The rules that hold and are due, the worst first."""

    @property
    def badness(self) -> float:
        """How bad the worst of it is."""
        return self.held[0].badness

    @property
    def rules(self) -> list[str]:
        """Names of the rules."""
        return sorted(each.rule.name for each in self.held)

    @property
    def asks(self) -> frozenset[Ask]:
        """All that they ask for; of a room that is gone only its runs, which Zoom knows by their own names."""
        if self.facts.is_gone:
            return frozenset({Ask.RUNS})
        return frozenset(ask for each in self.held for ask in each.rule.asks)


def choice(facts: RoomFacts, *, now: datetime, settings: PollerSettings) -> Choice | None:
    """What is to be asked about a room now; None for nothing."""
    due = [held for held in held_rules(facts, now, settings) if held.due]
    return Choice(facts=facts, held=due) if due else None


def worst_first(rooms: Iterable[RoomFacts], *, now: datetime, settings: PollerSettings) -> list[Choice]:
    """All rooms that there is something to ask about."""
    found = [made for facts in rooms if (made := choice(facts, now=now, settings=settings)) is not None]
    return sorted(found, key=lambda each: (-each.badness, each.facts.account_id, each.facts.zoom_id))


def next_visit(chosen: Choice, *, now: datetime) -> datetime:
    """Before when the same rules are no reason to ask again: the pauses double as long as they go on to hold."""
    visit = chosen.facts.visit
    times = visit.times if sorted(visit.rules) == chosen.rules else 0
    pauses = (each.rule.again_seconds for each in chosen.held)
    return now + timedelta(seconds=min(min(first * 2 ** min(times, 20), most) for first, most in pauses))
