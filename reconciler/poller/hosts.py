"""Hosts' lists, looked at in turn: rooms that nobody told of, rooms otherwise than they are known, rooms that are gone.

A room that is not known is told at once, for the list itself is a proof of it; everything else becomes a suspicion, for
lists are slow, cut and partial. A list that is not whole proves nothing of what it does not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import structlog

from reconciler.poller.listing import digest, listed_otherwise
from reconciler.poller.observing import Witness
from reconciler.poller.silences import Silences
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.settings import PollerSettings
from zoom.client.client import Permit, ZoomClient
from zoom.client.decisions import Decision
from zoom.client.lists import Listing, list_rooms
from zoom.client.rooms import number_of

HOSTS = 100
"""Lists of one account in one pass."""
SLOW = timedelta(minutes=5)
"""So long a new room may stay out of Zoom's lists."""

Suspicions = dict[str, tuple[str, str]]
"""By room what is suspected, and the digest of what the list shows."""


class HostLists:
    """Looks at hosts' lists."""

    def __init__(
        self,
        client: ZoomClient,
        *,
        witness: Witness,
        statements: Statements,
        settings: PollerSettings,
        clock: Clock,
    ) -> None:
        """Asks through `client`, tells through `witness`."""
        self._client = client
        self._witness = witness
        self._statements = statements
        self._settings = settings
        self._clock = clock
        self._log = structlog.get_logger("roomkeeper.poller")

    async def look(self, account_id: str, *, silences: Silences, permit: Permit) -> int:
        """Look at the lists that are due, and say how many rooms were told of.

        Raises:
            Unavailable: the database or the broker is away.
        """
        now, told = self._clock.now(), 0
        await self._statements.run("note_hosts", account_id=account_id, now=now)
        due = await self._statements.many(
            "find_due_hosts",
            account_id=account_id,
            now=now,
            account_since=silences.account_since,
            rows=HOSTS,
            **silences.as_values(),
        )
        for row in due:
            listing = await list_rooms(self._client, account_id=account_id, host=row["host"], permit=permit)
            if listing.reply.ruling.decision not in (Decision.DONE, Decision.REFUSE, Decision.GONE):
                break  # a limit or an outage: the rest waits for the next pass
            told += await self._compare(account_id, row["host"], listing)
            await self._note(account_id, row["host"], listing)
        return told

    async def _compare(self, account_id: str, host: str, listing: Listing) -> int:
        """Tell of unknown rooms, and note what is to be looked into."""
        items = {str(number): item for item in listing.rooms if (number := number_of(item))}
        rows = await self._statements.many("find_listed", account_id=account_id, zoom_ids=list(items))
        known = {row["zoom_id"]: row for row in rows}
        suspicions: Suspicions = {
            zoom_id: ("changed", name)
            for zoom_id, item in items.items()
            if (name := digest(item)) and (zoom_id not in known or _differs(item, known[zoom_id], name))
        }
        unknown = [zoom_id for zoom_id in items if zoom_id not in known]
        told = await self._witness.tell(
            self._witness.saw(
                "listed_meeting", listing.first, account_id=account_id, zoom_id=zoom_id, answer=items[zoom_id]
            )
            for zoom_id in unknown
        )
        missing = await self._missing(account_id, host, listing, items)
        suspicions |= dict.fromkeys(missing, ("missing", "missing"))
        await self._suspect(account_id, suspicions)
        self._log.info(
            "poller.listed",
            account=account_id,
            outcome="done" if listing.complete else listing.reply.ruling.reason,
            rooms=len(items),
            unknown=len(unknown),
            missing=len(missing),
            suspected=len(suspicions),
        )
        return told

    async def _missing(
        self, account_id: str, host: str, listing: Listing, items: Mapping[str, Mapping[str, Any]]
    ) -> Sequence[str]:
        if not listing.complete or listing.first.answer is None:
            return ()
        rows = await self._statements.many(
            "find_unlisted",
            account_id=account_id,
            host=host,
            host_ids=[host, *_host_ids(listing)],
            zoom_ids=list(items),
            asked_at=listing.first.answer.sent_at,
            slow=SLOW,
            rows=2 * self._settings.rooms,
        )
        return [row["zoom_id"] for row in rows]

    async def _suspect(self, account_id: str, suspicions: Suspicions) -> None:
        if suspicions:
            await self._statements.run(
                "note_suspicions",
                account_id=account_id,
                now=self._clock.now(),
                zoom_ids=list(suspicions),
                suspicions=[suspicion for suspicion, _ in suspicions.values()],
                listed=[name for _, name in suspicions.values()],
            )

    async def _note(self, account_id: str, host: str, listing: Listing) -> None:
        now, done = self._clock.now(), listing.reply.ruling.decision is Decision.DONE
        pause = self._settings.list_seconds if done else self._settings.refused_seconds
        ids = _host_ids(listing)
        host_id = ids[0] if len(ids) == 1 else None
        await self._statements.run(
            "note_list",
            account_id=account_id,
            host=host,
            host_id=host_id,
            listed_at=now if listing.complete else None,
            due_at=now + timedelta(seconds=pause),
            outcome=listing.reply.ruling.reason,
        )
        if host_id is not None:
            await self._statements.run("forget_same_host", account_id=account_id, host=host, host_id=host_id)


def _differs(item: Mapping[str, Any], row: Mapping[str, Any], name: str) -> bool:
    """Whether it is otherwise than it is known, or known as gone: lists are slow, so only a GET can say what is so."""
    return row["gone"] or (row["listed"] != name and bool(listed_otherwise(item, row["shown"])))


def _host_ids(listing: Listing) -> list[str]:
    return sorted({str(item["host_id"]) for item in listing.rooms if item.get("host_id")})
