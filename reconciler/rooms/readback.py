"""Reading back rooms in doubt: those for which a call of another worker may still land.

While a meeting is in doubt and nothing is pending, its room is looked at again and again, for longer than any call of
ours can last. What it shows otherwise than the last call left it is reported, and the stream makes an update of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from reconciler.rooms.reporting import READ_BACK, Reporter
from reconciler.rooms.zoom import RoomCalls
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from runtime.settings import RoomSettings
from schemas.codec import decode
from schemas.records.meeting_events import MeetingRoom, MeetingState
from zoom.client.client import Reply
from zoom.client.decisions import Decision

ROWS = 20
"""Read-backs of one pass."""


class ReadBacks:
    """Looks at rooms in doubt."""

    def __init__(
        self,
        database: AsyncDatabase,
        *,
        calls: RoomCalls,
        reporter: Reporter,
        accounts: Sequence[str],
        settings: RoomSettings,
        clock: Clock,
    ) -> None:
        """Of these accounts."""
        self._statements = Statements(database)
        self._calls = calls
        self._reporter = reporter
        self._accounts = accounts
        self._settings = settings
        self._clock = clock

    async def run_once(self) -> int:
        """Look at what is due, and say how many rooms that were.

        Raises:
            Unavailable: the database or the broker is away.
        """
        now = self._clock.now()
        due = await self._statements.many(
            "claim_doubts",
            now=now,
            accounts=list(self._accounts),
            rows=ROWS,
            next_at=now + timedelta(seconds=self._settings.read_back_seconds),
        )
        for row in due:
            meeting = decode(bytes(row["state"]), MeetingState)
            seen = await self.look(meeting, kind=READ_BACK) if _has_room(meeting) else True
            if seen and row["is_last"]:
                await self._statements.run(
                    "end_doubt", account_id=meeting.account_id, meeting_id=meeting.meeting_id, now=now
                )
        return len(due)

    async def look(self, meeting: MeetingState, *, kind: str) -> bool:
        """Look at a meeting's room and report what is news; False where Zoom did not answer."""
        room = meeting.room
        if room is None:
            return True
        reply = await self._calls.read(meeting.account_id, room.zoom_id)
        match reply.ruling.decision:
            case Decision.DONE:
                await self._shown(meeting, room, reply, kind=kind)
            case Decision.GONE:
                await self._missing(meeting, room, reply, kind=kind)
            case _:
                return False
        return True

    async def _shown(self, meeting: MeetingState, room: MeetingRoom, reply: Reply, *, kind: str) -> None:
        seen = self._calls.seen(reply, meeting=meeting, host=room.host, key=room.provider_key)
        await self._reporter.observe([seen.event])
        if seen.room.shown != room.shown or room.gone_at is not None:
            report = self._reporter.looked(
                meeting, room, kind=kind, at=seen.room.shown_at, found=seen.room, differences=seen.differences
            )
            await self._reporter.tell(report)

    async def _missing(self, meeting: MeetingState, room: MeetingRoom, reply: Reply, *, kind: str) -> None:
        event = self._calls.missing(reply, account_id=meeting.account_id, zoom_id=room.zoom_id)
        await self._reporter.observe([event] if event else [])
        if room.gone_at is None:
            await self._reporter.tell(self._reporter.looked(meeting, room, kind=kind, at=self._clock.now()))


def _has_room(meeting: MeetingState) -> bool:
    return meeting.status == "scheduled" and meeting.room is not None
