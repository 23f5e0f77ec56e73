"""A pass: everything that lags, worst first, up to a number of rooms and a length of time.

Guarantees: a room counts as asked once what was seen of it is in Kafka; whatever ends the pass early (a killed process,
a lost lead, a missing broker) leaves the rest to the next one, which begins with the worst again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

import structlog

from reconciler.poller.asking import Visited, Visits
from reconciler.poller.choosing import Choice, next_visit, worst_first
from reconciler.poller.knowledge import Knowledge
from reconciler.poller.past import RunCompared, next_comparison
from reconciler.poller.silences import Silences
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.metrics.catalogue.poller import (
    POLLER_LAGGING,
    POLLER_OBSERVATIONS,
    POLLER_RUNS,
    POLLER_VISITS,
    POLLER_WAITING,
)
from runtime.metrics.registry import Metrics
from runtime.settings import PollerSettings
from zoom.client.client import Permit

REFUSED_FOR = timedelta(hours=1)
"""A room about which Zoom says nothing is left alone for so long, whatever rule holds."""


class Lists(Protocol):
    """Compares hosts' lists with what is known."""

    async def look(self, account_id: str, *, silences: Silences, permit: Permit) -> int:
        """Look at the lists that are due; how many observations that gave."""


class Habits(Protocol):
    """Knows when hosts and accounts are usually heard."""

    async def observe(self, account_id: str) -> Silences:
        """Note who was heard, and say who is silent against habit."""


class Redeliveries(Protocol):
    """Takes deliveries that Zoom gave up on."""

    async def fetch(self, account_id: str, *, permit: Permit) -> int:
        """How many were taken."""


@dataclass(slots=True, kw_only=True)
class PassReport:
    """What a pass did."""

    rooms: int = 0
    """Asked about."""
    waiting: int = 0
    """Rooms that lag and did not fit."""
    observations: int = 0
    redelivered: int = 0
    new_runs: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    stopped: dict[str, str] = field(default_factory=dict)
    """Accounts whose part ended early, and why."""

    def as_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rooms": self.rooms,
            "waiting": self.waiting,
            "observations": self.observations,
            "redelivered": self.redelivered,
            "new_runs": self.new_runs,
            "rules": dict(sorted(self.rules.items())),
            "outcomes": dict(sorted(self.outcomes.items())),
            "stopped": self.stopped,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Makes passes over these accounts."""

    accounts: Sequence[str]
    statements: Statements
    knowledge: Knowledge
    visits: Visits
    settings: PollerSettings
    clock: Clock
    metrics: Metrics
    lists: Lists | None = None
    habits: Habits | None = None
    redeliveries: Redeliveries | None = None

    async def run(self, permit: Permit) -> PassReport:
        """Make one.

        Raises:
            Unavailable: the database or the broker is away.
            LeadershipLost: of the permit.
        """
        report = PassReport()
        ends_at = self.clock.monotonic_seconds() + self.settings.interval_seconds
        paused = await self.knowledge.paused(self.accounts, self.clock.now())
        report.stopped |= {account_id: str(row["reason"]) for account_id, row in paused.items()}
        choices: list[Choice] = []
        for account_id in self.accounts:
            if account_id not in paused:
                choices += await self._prepare(account_id, report, permit)
        choices.sort(key=lambda each: -each.badness)
        report.waiting = max(0, len(choices) - self.settings.rooms)
        await self._visit_all(choices[: self.settings.rooms], report, permit=permit, ends_at=ends_at)
        self.metrics.gauge(POLLER_WAITING).set(report.waiting)
        self.metrics.counter(POLLER_OBSERVATIONS).inc(report.observations)
        structlog.get_logger("roomkeeper.poller").info("poller.passed", **report.as_plain())
        return report

    async def _prepare(self, account_id: str, report: PassReport, permit: Permit) -> list[Choice]:
        """What comes before the rooms, and the rooms that lag."""
        silences = await self.habits.observe(account_id) if self.habits else Silences()
        if self.redeliveries:
            report.redelivered += await self.redeliveries.fetch(account_id, permit=permit)
        if self.lists:
            report.observations += await self.lists.look(account_id, silences=silences, permit=permit)
        now = self.clock.now()
        zoom_ids = await self.knowledge.lagging(account_id, now=now, silences=silences)
        facts = await self.knowledge.facts(account_id, zoom_ids, now=now, silences=silences)
        return worst_first(facts, now=now, settings=self.settings)

    async def _visit_all(
        self, choices: Sequence[Choice], report: PassReport, *, permit: Permit, ends_at: float
    ) -> None:
        waiting = iter(choices)
        visitors = [
            asyncio.ensure_future(self._visitor(waiting, report, permit=permit, ends_at=ends_at))
            for _ in range(self.settings.concurrency)
        ]
        try:
            await asyncio.gather(*visitors)
        finally:
            for each in visitors:
                each.cancel()
            await asyncio.gather(*visitors, return_exceptions=True)

    async def _visitor(self, waiting: Iterator[Choice], report: PassReport, *, permit: Permit, ends_at: float) -> None:
        """Takes room after room."""
        for chosen in waiting:
            account_id = chosen.facts.account_id
            if account_id in report.stopped:
                continue
            if self.clock.monotonic_seconds() > ends_at:
                report.waiting += 1
                continue
            visited = await self.visits.visit(chosen.facts, chosen.asks, now=self.clock.now(), permit=permit)
            self._count(chosen, visited, report)
            for compared in visited.runs:
                await self._note_run(chosen, compared)
            if visited.unanswered is not None and visited.unanswered.whole_account:
                report.stopped[account_id] = visited.outcome
            else:
                await self._note_visit(chosen, visited)

    async def _note_visit(self, chosen: Choice, visited: Visited) -> None:
        now = self.clock.now()
        next_at = next_visit(chosen, now=now)
        await self.statements.run(
            "note_visit",
            account_id=chosen.facts.account_id,
            zoom_id=chosen.facts.zoom_id,
            asked_at=now,
            next_at=max(next_at, now + REFUSED_FOR) if visited.refused else next_at,
            rules=chosen.rules,
            outcome=visited.outcome,
            got_at=visited.got_at,
            missing_at=visited.missing_at,
            past_read_at=visited.past_read_at,
        )

    async def _note_run(self, chosen: Choice, compared: RunCompared) -> None:
        if compared.outcome == "running":
            return
        facts, now = chosen.facts, self.clock.now()
        times = next((run.times for run in facts.runs if run.uuid == compared.uuid), 0) + 1
        outcome, next_at = next_comparison(compared, times=times, now=now, settings=self.settings)
        keys = {"account_id": facts.account_id, "zoom_id": facts.zoom_id}
        await self.statements.run(
            "note_run", **keys, uuid=compared.uuid, asked_at=now, next_at=next_at, outcome=outcome
        )
        if outcome == "refused":
            await self.statements.run(
                "note_refusal",
                account_id=facts.account_id,
                endpoint=compared.endpoint,
                reason=outcome,
                now=now,
                until_at=next_at,
            )

    def _count(self, chosen: Choice, visited: Visited, report: PassReport) -> None:
        report.rooms += 1
        report.observations += visited.observations
        report.new_runs += visited.new_runs
        report.outcomes[visited.outcome] += 1
        self.metrics.counter(POLLER_VISITS, outcome=visited.outcome).inc()
        for name in chosen.rules:
            report.rules[name] += 1
            self.metrics.counter(POLLER_LAGGING, rule=name).inc()
        for compared in visited.runs:
            self.metrics.counter(POLLER_RUNS, outcome=compared.outcome).inc()
        self.metrics.counter(POLLER_RUNS, outcome="unheard").inc(visited.new_runs)
