"""What the poller knows of a room, and what it would do: the same facts and the same rules as in a pass."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.poller.choosing import Choice
from reconciler.poller.facts import RoomFacts
from reconciler.poller.habits import newest_silences
from reconciler.poller.knowledge import Knowledge
from reconciler.poller.rules import RULES, Held, Rule, held_rules
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from runtime.settings import PollerSettings, Settings
from schemas.errors import Misconfigured


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleExplained:
    """One rule, of this room."""

    rule: Rule
    threshold_seconds: float
    held: Held | None
    """None where it does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A room as the poller sees it."""

    facts: RoomFacts
    rules: Sequence[RuleExplained]
    would_ask: Sequence[str]
    """What the next pass asks for; empty for nothing."""
    now: datetime
    paused: str = ""
    """Why the account is not called, where it is not."""


def explain(settings: Settings, zoom_id: str, *, account_id: str | None, clock: Clock) -> Explanation:
    """The explanation of a room.

    Raises:
        Misconfigured: no account of the settings knows the room, or several do.
        Unavailable: the database is away.
    """
    return asyncio.run(_explain(settings, zoom_id, account_id=account_id, clock=clock))


def explained(facts: RoomFacts, *, now: datetime, settings: PollerSettings, paused: str = "") -> Explanation:
    """The same from facts alone."""
    held = {each.rule.name: each for each in held_rules(facts, now, settings)}
    rules = [
        RuleExplained(rule=rule, threshold_seconds=rule.threshold(settings), held=held.get(rule.name)) for rule in RULES
    ]
    due = [each for each in held.values() if each.due]
    asks = sorted(ask.value for ask in Choice(facts=facts, held=due).asks) if due and not paused else []
    return Explanation(facts=facts, rules=rules, would_ask=asks, now=now, paused=paused)


def _only(known: Sequence[str], zoom_id: str) -> str:
    if not known:
        raise Misconfigured(f"{zoom_id}: no such room")
    if len(known) > 1:
        raise Misconfigured(f"{zoom_id}: a room of {', '.join(known)}: say which with --account")
    return known[0]


async def _explain(settings: Settings, zoom_id: str, *, account_id: str | None, clock: Clock) -> Explanation:
    accounts = [account_id] if account_id else [account.account_id for account in settings.accounts]
    now = clock.now()
    async with AsyncDatabase(settings.postgres, role="poller") as database:
        statements = Statements(database, package="reconciler.poller")
        knowledge = Knowledge(statements, settings=settings.poller)
        known = _only(await knowledge.accounts_of(accounts, zoom_id), zoom_id)
        paused = str((await knowledge.paused([known], now)).get(known, {}).get("reason", ""))
        silences = await newest_silences(statements, known)
        (facts,) = await knowledge.facts(known, [zoom_id], now=now, silences=silences)
    has_gateway = any(account.gateway for account in settings.accounts if account.account_id == known)
    return explained(facts, now=now, settings=settings.poller, paused=paused if has_gateway else "no_gateway")
