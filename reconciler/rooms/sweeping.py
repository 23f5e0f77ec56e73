"""Sweeping hosts' lists for rooms that carry a key, whoever made them: what is not known of them is reported.

The same list shows rooms that somebody changed or deleted (`drift`).

A room of a pending create is its outcome; any other is one too many. The sweep goes on for cancelled meetings too, for
a create of long ago may still have succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

import structlog

from reconciler.rooms.drift import Drift
from reconciler.rooms.reporting import Reporter
from reconciler.rooms.zoom import RoomCalls, listed_room
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from runtime.randomness import Random
from runtime.settings import RoomSettings
from schemas.codec import decode
from schemas.ids import ProviderKey, meeting_id_of
from schemas.records.meeting_commands import RoomFound
from schemas.records.meeting_events import MeetingState

HOSTS = 10
"""Lists of one pass."""


class Sweep:
    """Looks through the lists of hosts under whom rooms were made."""

    def __init__(
        self,
        database: AsyncDatabase,
        *,
        calls: RoomCalls,
        reporter: Reporter,
        accounts: Sequence[str],
        settings: RoomSettings,
        clock: Clock,
        random: Random,
    ) -> None:
        """Of these accounts; `random` keeps hosts from being swept at one time."""
        self._statements = Statements(database)
        self._calls = calls
        self._reporter = reporter
        self._accounts = accounts
        self._settings = settings
        self._clock = clock
        self._random = random
        self._drift = Drift(self._statements, calls=calls, reporter=reporter, settings=settings, clock=clock)
        self._log = structlog.get_logger("roomkeeper.rooms")

    async def run_once(self) -> int:
        """Sweep the hosts that are due, and say how many rooms were reported.

        Raises:
            Unavailable: the database or the broker is away.
        """
        now = self._clock.now()
        spread = self._random.uniform(0.9, 1.1)
        due = await self._statements.many(
            "claim_hosts",
            now=now,
            accounts=list(self._accounts),
            rows=HOSTS,
            next_at=now + timedelta(seconds=self._settings.sweep_seconds * spread),
        )
        return sum([await self._sweep(row["account_id"], row["host"]) for row in due])

    async def _sweep(self, account_id: str, host: str) -> int:
        listing = await self._calls.listing(account_id, host)
        rooms = [
            room
            for item in listing.rooms
            if (key := self._calls.key_of(account_id, item)) is not None
            and (room := listed_room(item, host=host, key=key, reply=listing.reply)) is not None
        ]
        unknown = await self._unknown(account_id, rooms)
        for room in unknown:
            await self._reporter.tell(self._reporter.found(account_id, room))
        drifted = await self._drift.check(account_id, host, listing)
        await self._statements.run("forget_host", account_id=account_id, host=host, now=self._clock.now())
        self._log.info(
            "rooms.swept",
            account=account_id,
            outcome="done" if listing.complete else listing.reply.ruling.reason,
            rooms=len(listing.rooms),
            with_key=len(rooms),
            unknown=len(unknown),
            drifted=drifted,
        )
        return len(unknown)

    async def _unknown(self, account_id: str, rooms: Sequence[RoomFound]) -> Sequence[RoomFound]:
        """Those of our meetings' rooms that the meetings do not know."""
        meeting_ids = sorted({_meeting_id(room) for room in rooms})
        if not meeting_ids:
            return ()
        states = await self._statements.many("find_states", account_id=account_id, meeting_ids=meeting_ids)
        known = {
            meeting.meeting_id: set(_known_rooms(meeting))
            for meeting in (decode(bytes(row["state"]), MeetingState) for row in states)
        }
        # A key whose meeting nobody knows is another installation's.
        return [room for room in rooms if _meeting_id(room) in known and room.zoom_id not in known[_meeting_id(room)]]


def _known_rooms(meeting: MeetingState) -> Iterable[str]:
    if meeting.room is not None:
        yield meeting.room.zoom_id
    yield from (room.zoom_id for room in meeting.second_rooms)


def _meeting_id(room: RoomFound) -> str:
    return meeting_id_of(ProviderKey(room.provider_key or ""))
