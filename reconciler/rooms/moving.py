"""People follow their meeting: when it has another room, whoever is registered is registered there.

The room's change and the people's registrations are entries of their own, so nobody decides about them together: the
projector notes who was left behind, and this asks for each of them as a caller would. Asked twice, it is one command.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog

from reconciler.rooms.reporting import Reporter
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.postgres import AsyncDatabase
from schemas.codec import decode
from schemas.ids import CommandId, derive
from schemas.records.meeting_commands import MOVES, AddRegistrant
from schemas.records.meeting_events import RegistrantState
from schemas.requests import RegistrantRequest

PEOPLE = 200
"""People of one pass."""


class Moves:
    """Looks for people who were left behind."""

    def __init__(self, database: AsyncDatabase, *, reporter: Reporter, accounts: Sequence[str], clock: Clock) -> None:
        """Of these accounts."""
        self._statements = Statements(database)
        self._reporter = reporter
        self._accounts = accounts
        self._clock = clock
        self._log = structlog.get_logger("roomkeeper.rooms")

    async def run_once(self) -> int:
        """Ask for those who were left behind, and say how many they were.

        Raises:
            Unavailable: the database or the broker is away.
        """
        now = self._clock.now()
        about = {"accounts": list(self._accounts), "now": now}
        rows = await self._statements.many("find_moved", **about, rows=PEOPLE)
        if not rows:
            await self._statements.run("forget_moved", **about)
            return 0
        people = [(decode(bytes(row["state"]), RegistrantState), str(row["room"])) for row in rows]
        await self._reporter.ask(*(_again(person, room=room, at=now) for person, room in people))
        names = ("account_id", "meeting_id", "registrant_key", "zoom_id")
        columns = {name: [getattr(person, name) for person, _ in people] for name in names}
        await self._statements.run("settle_moved", **columns)
        self._log.info("rooms.people_moved", people=len(people))
        return len(people)


def _again(person: RegistrantState, *, room: str, at: datetime) -> AddRegistrant:
    asked = {"email": person.email, "first_name": person.first_name, "last_name": person.last_name}
    return AddRegistrant(
        command_id=CommandId(derive("moved", person.account_id, person.registrant_key, str(person.zoom_id), room)),
        account_id=person.account_id,
        meeting_id=person.meeting_id,
        issued_at=at,
        issued_by=MOVES,
        idempotency_key=None,
        request_hash=RegistrantRequest(**asked).request_hash(),
        **asked,
    )
