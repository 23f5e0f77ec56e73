"""Comparing single runs with Zoom's past data: when they ended, and who attended.

Zoom's past data lags, is empty for a while, and depends on the account's plan: each of these is an outcome that is
remembered, and says when the run is asked about again, if ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from reconciler.poller.facts import RoomFacts, RunFacts
from reconciler.poller.observing import Witness
from runtime.settings import PollerSettings
from zoom.client.client import Call, Permit, Reply, ZoomClient
from zoom.client.decisions import Decision, Ruling
from zoom.client.endpoints import PARTICIPANTS, PAST, REPORT, Endpoint
from zoom.observations import Kind

Outcome = Literal["settled", "running", "not_yet", "unprocessed", "too_old", "refused", "given_up"]
FIRST_SECONDS, MOST_SECONDS = 240.0, 3_600.0
TRIES = 12
"""About eight hours with the pauses above; then Zoom has nothing."""
EMPTY_TRIES = 3
"""A list without rows, such as one person's meeting may have, is believed the third time."""
NAMES = ("id", "registrant_id", "user_email")
"""What names a person in a row of past participants."""
PAGE_SIZE = 300
MOST_PAGES = 100


class Unanswered(Exception):
    """Zoom did not answer as it should: a limit, an outage, a missing permission."""

    def __init__(self, ruling: Ruling) -> None:
        """By this ruling."""
        super().__init__(ruling.reason)
        self.why = ruling.reason
        self.whole_account = ruling.decision in (Decision.PARK, Decision.ALERT) or ruling.reason in _WHOLE_ACCOUNT


_WHOLE_ACCOUNT = frozenset({"breaker_open", "rate_budget", "token_unavailable", "unreachable"})
_PLAN = frozenset({"no_permission_or_unpaid", "not_permitted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompared:
    """What became of a run's comparison."""

    uuid: str
    outcome: Outcome
    endpoint: str
    """Asked last."""
    observations: int = 0
    nameless: bool = False
    """Whether a row names nobody: the report may, by a customer key."""


class PastRuns:
    """Asks about runs that are over."""

    def __init__(self, client: ZoomClient, *, witness: Witness) -> None:
        """Asks through `client`, tells through `witness`."""
        self._client = client
        self._witness = witness

    async def compare(self, facts: RoomFacts, run: RunFacts, *, permit: Permit) -> RunCompared:
        """Ask when the run ended, unless a webhook told, and who attended it.

        Raises:
            Unanswered: Zoom did not answer as it should.
            Unavailable: the broker is away.
        """
        told = 0
        if not run.end_told:
            reply = await self._call(PAST, facts, run, {}, permit)
            refusal = _refused(reply)
            if refusal is not None:
                return RunCompared(uuid=run.uuid, outcome=refusal, endpoint=PAST.name)
            told += await self._witness.tell(
                [
                    self._witness.saw(
                        "past_meeting", reply, account_id=facts.account_id, zoom_id=facts.zoom_id, uuid=run.uuid
                    )
                ]
            )
            if not reply.document.get("end_time"):
                return RunCompared(uuid=run.uuid, outcome="running", endpoint=PAST.name, observations=told)
        return await self._attendance(facts, run, told=told, permit=permit)

    async def _attendance(self, facts: RoomFacts, run: RunFacts, *, told: int, permit: Permit) -> RunCompared:
        """Who attended. The report, a heavy call, is read where only it can say: open breakout rooms, and names."""
        compared = None
        if not run.open_breakouts:
            compared = await self._rows(PARTICIPANTS, facts, run, told=told, permit=permit)
            if not compared.nameless:
                return compared
            told = compared.observations
        try:
            reported = await self._rows(REPORT, facts, run, told=told, permit=permit)
        except Unanswered as reason:
            if reason.why != "missing_scope":
                raise
        else:
            if reported.outcome in ("settled", "unprocessed"):
                return reported
        return compared or await self._rows(PARTICIPANTS, facts, run, told=told, permit=permit)

    async def _rows(
        self, endpoint: Endpoint, facts: RoomFacts, run: RunFacts, *, told: int, permit: Permit
    ) -> RunCompared:
        """Each page is told before the next is asked for."""
        kind: Kind = "report_participant" if endpoint is REPORT else "past_participant"
        query, rows, unprocessed, nameless = {"page_size": str(PAGE_SIZE)}, 0, False, False
        for _ in range(MOST_PAGES):
            reply = await self._call(endpoint, facts, run, query, permit)
            refusal = _refused(reply)
            if refusal is not None:
                return RunCompared(uuid=run.uuid, outcome=refusal, endpoint=endpoint.name, observations=told)
            page = [row for row in reply.document["participants"] if isinstance(row, dict)]
            rows += len(page)
            unprocessed = unprocessed or any(not row.get("leave_time") for row in page)
            nameless = nameless or not all(any(row.get(name) for name in NAMES) for row in page)
            told += await self._witness.tell(
                self._witness.saw(
                    kind, reply, account_id=facts.account_id, zoom_id=facts.zoom_id, uuid=run.uuid, answer=row
                )
                for row in page
            )
            token = reply.document.get("next_page_token")
            if not token:
                break
            query = query | {"next_page_token": str(token)}
        unprocessed = unprocessed or (rows == 0 and run.times + 1 < EMPTY_TRIES)
        outcome: Outcome = "unprocessed" if unprocessed else "settled"
        return RunCompared(uuid=run.uuid, outcome=outcome, endpoint=endpoint.name, observations=told, nameless=nameless)

    async def _call(
        self, endpoint: Endpoint, facts: RoomFacts, run: RunFacts, query: Mapping[str, Any], permit: Permit
    ) -> Reply:
        call = Call(endpoint=endpoint, account_id=facts.account_id, meeting=run.uuid, query=query or None)
        reply = await self._client.call(call, permit=permit)
        if reply.ruling.decision not in (Decision.DONE, Decision.GONE, Decision.REFUSE):
            raise Unanswered(reply.ruling)
        return reply


def next_comparison(
    compared: RunCompared, *, times: int, now: datetime, settings: PollerSettings
) -> tuple[str, datetime | None]:
    """The outcome to remember after so many comparisons, and when the next one is due; None for never."""
    match compared.outcome:
        case "settled" | "too_old":
            return compared.outcome, None
        case "refused":
            return compared.outcome, now + timedelta(seconds=settings.refused_seconds)
        case _ if times >= TRIES:
            return "given_up", None
        case _:
            pause = min(FIRST_SECONDS * 2 ** min(times - 1, 10), MOST_SECONDS)
            return compared.outcome, now + timedelta(seconds=pause)


def _refused(reply: Reply) -> Outcome | None:
    """What a refusal means; None for an answer."""
    if reply.ruling.decision is Decision.DONE:
        return None
    if reply.ruling.decision is Decision.GONE:
        return "not_yet"
    if reply.ruling.reason == "too_old":
        return "too_old"
    return "refused" if reply.ruling.reason in _PLAN else "not_yet"
