"""A visit to one room: the calls that the rules ask for, and the observations that come of them.

Guarantees: what was seen is acknowledged by the broker before the visit counts; a 404 of a past run is "not yet", and
only a 404 of the room itself is told; what the plan does not allow is remembered by the caller and asked no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from reconciler.poller.facts import RoomFacts, RunFacts
from reconciler.poller.findings import runs_to_compare
from reconciler.poller.observing import Witness
from reconciler.poller.past import PastRuns, RunCompared, Unanswered
from reconciler.poller.rules import Ask
from reconciler.statements import Statements
from runtime.settings import PollerSettings
from zoom.client.client import Call, Permit, Reply, ZoomClient
from zoom.client.decisions import Decision
from zoom.client.endpoints import GET, INSTANCES
from zoom.times import epoch_ms, moment

EVERY_DATE = {"show_previous_occurrences": "true"}
"""A date of a series that is missing in the answer to this is gone, and not only past."""
MOST_RUNS = 20
"""Runs that one visit compares; the rest comes with the next one."""


@dataclass(slots=True, kw_only=True)
class Visited:
    """What became of a visit."""

    outcome: str = "done"
    got_at: datetime | None = None
    missing_at: datetime | None = None
    past_read_at: datetime | None = None
    runs: list[RunCompared] = field(default_factory=list)
    new_runs: int = 0
    """Runs that Zoom's past list has and we had not."""
    observations: int = 0
    unanswered: Unanswered | None = None
    """Why it ended early."""

    @property
    def refused(self) -> bool:
        """Whether Zoom refused what was asked, and will again."""
        return self.unanswered is None and self.outcome not in ("done", "missing")


class Visits:
    """Visits rooms."""

    def __init__(
        self, client: ZoomClient, *, witness: Witness, statements: Statements, settings: PollerSettings
    ) -> None:
        """Asks through `client`, tells through `witness`."""
        self._client = client
        self._witness = witness
        self._statements = statements
        self._settings = settings
        self._past = PastRuns(client, witness=witness)

    async def visit(self, facts: RoomFacts, asks: Iterable[Ask], *, now: datetime, permit: Permit) -> Visited:
        """Ask about a room.

        Raises:
            Unavailable: the database or the broker is away; what was seen may be lost, and is asked for again.
        """
        wanted, visited = frozenset(asks), Visited()
        try:
            await self._visit(facts, wanted, visited, now=now, permit=permit)
        except Unanswered as reason:
            visited.unanswered, visited.outcome = reason, reason.why
        return visited

    async def _visit(
        self, facts: RoomFacts, wanted: frozenset[Ask], visited: Visited, *, now: datetime, permit: Permit
    ) -> None:
        live = await self._room(facts, visited, permit=permit) if Ask.ROOM in wanted else None
        open_runs: list[RunFacts] = []
        if Ask.ROOM in wanted or facts.is_gone:
            open_runs = [run for run in facts.runs if run.status == "started" and not run.settled and run.uuid != live]
        runs = {run.uuid: run for run in (*open_runs, *runs_to_compare(facts, now, self._settings))}
        if Ask.PAST in wanted and visited.missing_at is None:
            runs |= {run.uuid: run for run in await self._list(facts, visited, live=live, permit=permit)}
        if facts.past_refused:
            return
        for run in list(runs.values())[:MOST_RUNS]:
            compared = await self._past.compare(facts, run, permit=permit)
            visited.observations += compared.observations
            visited.runs.append(compared)
            if compared.outcome == "refused":
                return

    async def _room(self, facts: RoomFacts, visited: Visited, *, permit: Permit) -> str | None:
        """Look at the room itself; gives the uuid of the run that goes on."""
        call = Call(endpoint=GET, account_id=facts.account_id, meeting=facts.zoom_id, query=EVERY_DATE)
        reply = await self._call(call, permit)
        if reply.ruling.decision is Decision.REFUSE or reply.answer is None:
            visited.outcome = reply.ruling.reason
            return None
        uuid = reply.document.get("uuid")
        name = uuid if isinstance(uuid, str) and uuid else None
        event = self._witness.saw(
            "meeting", reply, account_id=facts.account_id, zoom_id=facts.zoom_id, uuid=name, every_occurrence=True
        )
        visited.observations += await self._witness.tell([event])
        if reply.ruling.decision is Decision.GONE:
            visited.missing_at, visited.outcome = reply.answer.sent_at, "missing"
            return None
        visited.got_at = reply.answer.sent_at
        return name if reply.document.get("status") == "started" else None

    async def _list(self, facts: RoomFacts, visited: Visited, *, live: str | None, permit: Permit) -> list[RunFacts]:
        """Read the list of past runs, tell of those that are not known, and give them."""
        reply = await self._call(Call(endpoint=INSTANCES, account_id=facts.account_id, meeting=facts.zoom_id), permit)
        if reply.ruling.decision is Decision.REFUSE or reply.answer is None:
            visited.outcome = reply.ruling.reason
            return []
        visited.past_read_at = reply.answer.sent_at
        listed = reply.document.get("meetings")
        items = {str(item["uuid"]): item for item in (listed if isinstance(listed, list) else ()) if _has_uuid(item)}
        items.pop(live or "", None)
        rows = await self._statements.many(
            "find_known_runs", account_id=facts.account_id, zoom_id=facts.zoom_id, uuids=list(items)
        )
        known = {row["uuid"] for row in rows}
        fresh = sorted((item for uuid, item in items.items() if uuid not in known), key=_start, reverse=True)
        fresh = fresh[:MOST_RUNS]
        visited.new_runs = len(fresh)
        visited.observations += await self._witness.tell(
            self._witness.saw(
                "past_instance",
                reply,
                account_id=facts.account_id,
                zoom_id=facts.zoom_id,
                uuid=str(item["uuid"]),
                answer=item,
            )
            for item in fresh
        )
        return [_unknown_run(item) for item in fresh]

    async def _call(self, call: Call, permit: Permit) -> Reply:
        reply = await self._client.call(call, permit=permit)
        if reply.ruling.decision not in (Decision.DONE, Decision.GONE, Decision.REFUSE):
            raise Unanswered(reply.ruling)
        return reply


def _has_uuid(item: object) -> bool:
    return isinstance(item, dict) and isinstance(item.get("uuid"), str) and bool(item["uuid"])


def _start(item: Mapping[str, Any]) -> int:
    return epoch_ms(item.get("start_time")) or 0


def _unknown_run(item: Mapping[str, Any]) -> RunFacts:
    return RunFacts(
        uuid=str(item["uuid"]),
        status="unknown",
        started_at=moment(_start(item)) if _start(item) else None,
        ended_at=None,
        end_told=False,
        end_polled=False,
        open_connections=False,
    )
