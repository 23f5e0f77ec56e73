"""Reading what the poller needs to know: rooms that lag, by each rule's own query, and the facts about them.

Every query goes over an index that holds what is recent or open, and gives a bounded number of rooms: what a pass costs
depends on what happens, not on how many rooms there ever were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from reconciler.poller.facts import RoomFacts, RunFacts, Span, Visit
from reconciler.poller.findings import DAY
from reconciler.poller.rules import RULES, Ask, Rule
from reconciler.poller.silences import Silences
from reconciler.statements import Statements
from runtime.settings import PollerSettings
from zoom.client.endpoints import PARTICIPANTS, PAST
from zoom.times import epoch_ms, moment

MOST_RUNS = 50
"""Runs of one room that are looked at."""
MOST_MINUTES = 2**31
"""A date's length is as it was sent: with more than a column takes, its end is at no moment of a calendar."""
NO_SILENCE = Silences()
_PAST_ENDPOINTS = frozenset({PAST.name, PARTICIPANTS.name})


class Knowledge:
    """Questions to the database."""

    def __init__(self, statements: Statements, *, settings: PollerSettings) -> None:
        """`statements` are the poller's."""
        self._statements = statements
        self._settings = settings

    async def lagging(self, account_id: str, *, now: datetime, silences: Silences) -> Sequence[str]:
        """Rooms of which a rule may hold. Raises `Unavailable`."""
        found: dict[str, None] = {}
        refused = await self.refused([account_id], now)
        thresholds: dict[str, float] = {}
        for rule in RULES:
            if Ask.RUNS not in rule.asks or account_id not in refused:
                seconds = rule.threshold(self._settings)
                thresholds[_query(rule)] = min(seconds, thresholds.get(_query(rule), seconds))
        for query, seconds in thresholds.items():
            values = self._values(account_id, timedelta(seconds=seconds), now) | silences.as_values()
            if query != "lag_webhook_gap" or silences.any:
                rows = await self._statements.many(query, **values)
                found |= dict.fromkeys(row["zoom_id"] for row in rows)
        return list(found)

    async def facts(
        self, account_id: str, zoom_ids: Sequence[str], *, now: datetime, silences: Silences = NO_SILENCE
    ) -> Sequence[RoomFacts]:
        """What is known of these rooms. Raises `Unavailable`."""
        rows = await self._statements.many("find_rooms", account_id=account_id, zoom_ids=list(zoom_ids))
        window = Span(start_at=now - timedelta(seconds=self._settings.horizon_seconds), end_at=now + DAY + DAY)
        asked = {"account_id": account_id, "zoom_ids": list(zoom_ids), "most": MOST_RUNS, "oldest": window.start_at}
        runs = await self._statements.many("find_runs", **asked)
        refused = account_id in await self.refused([account_id], now)
        by_room: dict[str, list[RunFacts]] = {}
        for row in runs:
            by_room.setdefault(row["zoom_id"], []).append(_run(row))
        return [
            RoomFacts(
                account_id=account_id,
                zoom_id=row["zoom_id"],
                existence=row["existence"],
                ready_at=row["ready_at"],
                last_seen_at=row["last_seen_at"],
                wants_get=row["wants_get"],
                spans=_spans(row, window),
                runs=by_room.get(row["zoom_id"], ()),
                silent_since=silences.since(row["host_id"]),
                past_refused=refused,
                visit=_visit(row),
            )
            for row in rows
        ]

    async def refused(self, accounts: Iterable[str], now: datetime) -> Mapping[str, Mapping[str, Any]]:
        """Accounts that are refused past data, by what is remembered."""
        rows = await self._statements.many("find_refusals", accounts=list(accounts), now=now)
        return {row["account_id"]: row for row in rows if row["endpoint"] in _PAST_ENDPOINTS}

    async def paused(self, accounts: Iterable[str], now: datetime) -> Mapping[str, Mapping[str, Any]]:
        """Accounts that are not called now."""
        rows = await self._statements.many("find_paused", accounts=list(accounts), now=now)
        return {row["account_id"]: row for row in rows}

    async def accounts_of(self, accounts: Iterable[str], zoom_id: str) -> Sequence[str]:
        """Those of the accounts that know a room."""
        rows = await self._statements.many("find_room_accounts", accounts=list(accounts), zoom_id=zoom_id)
        return sorted(row["account_id"] for row in rows)

    def _values(self, account_id: str, threshold: timedelta, now: datetime) -> dict[str, Any]:
        oldest = now - timedelta(seconds=self._settings.horizon_seconds)
        return {
            "account_id": account_id,
            "now": now,
            "threshold": threshold,
            "oldest": oldest,
            "oldest_text": _zoom_text(oldest),
            "newest_text": _zoom_text(now - threshold),
            "now_text": _zoom_text(now),
            "tomorrow_text": _zoom_text(now + DAY),
            "rows": 2 * self._settings.rooms,
        }


def _query(rule: Rule) -> str:
    return "lag_ended_runs" if Ask.RUNS in rule.asks else f"lag_{rule.name}"


def _run(row: Mapping[str, Any]) -> RunFacts:
    return RunFacts(
        uuid=row["uuid"],
        status=row["status"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        end_told=row["status"] == "ended" and not row["end_inferred"],
        end_polled=row["end_polled"],
        open_connections=row["open_connections"],
        open_breakouts=row["open_breakouts"],
        outcome=row["outcome"],
        times=row["times"],
        next_at=row["next_at"],
    )


def _visit(row: Mapping[str, Any]) -> Visit:
    return Visit(
        asked_at=row["asked_at"],
        next_at=row["next_at"],
        rules=tuple(row["rules"] or ()),
        times=row["times"] or 0,
        outcome=row["outcome"],
        got_at=row["got_at"],
        missing_at=row["missing_at"],
        past_read_at=row["past_read_at"],
        suspicion=row["suspicion"],
        suspected_at=row["suspected_at"],
    )


def _spans(row: Mapping[str, Any], window: Span) -> Sequence[Span]:
    """The dates of a series, else the room's own date, else the meeting's; those that lie in the window."""
    minutes = row["duration_minutes"] or row["wanted_minutes"] or 0
    listed = row["occurrences"]
    dates = [date for date in listed if isinstance(date, dict)] if isinstance(listed, list) else []
    found = [_span(epoch_ms(date.get("start_time")), date.get("duration"), minutes) for date in dates]
    if not any(found):
        start_at = row["start_at"] or row["wanted_start_at"]
        found = [None if start_at is None else Span(start_at=start_at, end_at=start_at + timedelta(minutes=minutes))]
    spans = [span for span in found if span and span.end_at > window.start_at and span.start_at < window.end_at]
    return sorted(spans, key=lambda span: span.start_at)


def _span(start_ms: int | None, duration: object, minutes: int) -> Span | None:
    if start_ms is None:
        return None
    length = duration if type(duration) is int and 0 <= duration < MOST_MINUTES else minutes
    return Span(start_at=moment(start_ms), end_at=moment(start_ms) + timedelta(minutes=length))


def _zoom_text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
