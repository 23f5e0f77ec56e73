"""What /v1 reads from PostgreSQL, always within one account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast
from uuid import UUID

from ingress.api.registrant_shapes import RegistrantShape
from ingress.api.shapes import DetailsShape, MeetingShape
from runtime.postgres import AsyncDatabase
from runtime.queries import queries
from schemas.codec import decode
from schemas.errors import Broken
from schemas.records.meeting_events import MeetingState, RegistrantState

Row = Mapping[str, Any]

EVERYTHING = ("infinity", "ffffffff-ffff-ffff-ffff-ffffffffffff")
"""The place before the first item of a list, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a command."""

    status: str
    code: str | None
    message: str | None
    meeting: MeetingState | None

    @property
    def is_finished(self) -> bool:
        """Decided, and if it was accepted, with an outcome of all room work but the removal of rooms in excess."""
        if self.status == "pending":
            return False
        if self.status == "rejected" or self.meeting is None:
            return True
        problem = self.meeting.problem
        paused = problem is not None and problem.code == "provider_unavailable"
        return paused or all(work.action == "remove" for work in self.meeting.pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrantOutcome:
    """What became of a command about a registrant, and the person as it is now."""

    status: str
    code: str | None
    message: str | None
    registrant: RegistrantShape | None

    @property
    def is_finished(self) -> bool:
        """Decided, and if it was accepted, with an outcome of all work about the person."""
        if self.status != "accepted" or self.registrant is None:
            return self.status == "rejected"
        problem = self.registrant.problem
        paused = problem is not None and problem.code == "provider_unavailable"
        return paused or not self.registrant.pending


class Reader:
    """Reads rows of one account at a time."""

    def __init__(self, database: AsyncDatabase) -> None:
        """Reads through this pool."""
        self._database = database

    async def meeting(self, account_id: str, meeting_id: UUID) -> MeetingShape | None:
        """The meeting, also while its create is pending."""
        row = await self._one("find_meeting", account_id=account_id, meeting_id=meeting_id)
        return None if row is None else _meeting(row)

    async def knows_meeting(self, account_id: str, meeting_id: UUID) -> bool:
        """Whether the account has such a meeting."""
        row = await self._one("knows_meeting", account_id=account_id, meeting_id=meeting_id)
        return row is not None and bool(row["known"])

    async def meetings(
        self, account_id: str, *, status: str | None, host: str | None, before: tuple[str, str], rows: int
    ) -> list[MeetingShape]:
        """At most so many meetings after the place `before`, newest first."""
        found = await self._many(
            "list_meetings",
            prepare=False,  # planned anew each time: each filter has its own index
            account_id=account_id,
            status=status,
            host=host,
            before_at=before[0],
            before_id=before[1],
            rows=rows,
        )
        return [_meeting(row) for row in found]

    async def registrant(self, account_id: str, meeting_id: UUID, registrant_key: UUID) -> RegistrantShape | None:
        """One person of a meeting."""
        row = await self._one(
            "find_registrant", account_id=account_id, meeting_id=meeting_id, registrant_key=registrant_key
        )
        return None if row is None else _registrant(row)

    async def registrants(
        self, account_id: str, meeting_id: str, *, status: str | None, before: tuple[str, str], rows: int
    ) -> list[RegistrantShape]:
        """At most so many people of a meeting after the place `before`, newest first."""
        found = await self._many(
            "list_registrants",
            account_id=account_id,
            meeting_id=meeting_id,
            status=status,
            before_at=before[0],
            before_id=before[1],
            rows=rows,
        )
        return [_registrant(row) for row in found]

    async def registrant_outcomes(self, account_id: str, command_ids: Sequence[str]) -> Mapping[str, RegistrantOutcome]:
        """What became of these commands so far, by their ids."""
        found = await self._many("find_registrant_outcomes", account_id=account_id, command_ids=list(command_ids))
        return {
            str(row["command_id"]): RegistrantOutcome(
                status=row["status"],
                code=row["code"],
                message=row["message"],
                registrant=None if row["state"] is None else _registrant(row),
            )
            for row in found
        }

    async def command(self, account_id: str, command_id: UUID) -> Row | None:
        """The command, once it is in Kafka."""
        row = await self._one("find_command", account_id=account_id, command_id=command_id)
        return row if row and (row["produced_at"] is not None or row["status"] != "pending") else None

    async def outcome(self, account_id: str, command_id: str) -> Outcome | None:
        """What became of a command so far."""
        row = await self._one("find_outcome", account_id=account_id, command_id=command_id)
        if row is None:
            return None
        state = row["state"]
        meeting = None if state is None else decode(bytes(state), MeetingState)
        return Outcome(status=row["status"], code=row["code"], message=row["message"], meeting=meeting)

    async def room(self, account_id: str, zoom_id: str) -> Row | None:
        """One room."""
        return await self._one("find_room", account_id=account_id, zoom_id=zoom_id)

    async def instances(self, account_id: str, zoom_id: str, *, before: tuple[str, str], rows: int) -> list[Row]:
        """At most so many runs of a room after the place `before`, newest first."""
        return await self._many(
            "list_instances",
            prepare=False,  # one plan for all rooms would sort all runs of a busy one
            account_id=account_id,
            zoom_id=zoom_id,
            before_at=before[0],
            before_uuid=before[1],
            rows=rows,
        )

    async def instance(self, account_id: str, uuid: str) -> Row | None:
        """One run, by Zoom's uuid."""
        return await self._one("find_instance", account_id=account_id, uuid=uuid)

    async def attendance(self, account_id: str, zoom_id: str, uuid: str, *, at: datetime) -> list[Row]:
        """Who attended a run, by person; an open stay counts to `at`."""
        return await self._many("find_attendance", account_id=account_id, zoom_id=zoom_id, uuid=uuid, at=at)

    async def alerts(self, account_id: str) -> list[Row]:
        """What is wrong at the moment."""
        return await self._many("list_alerts", account_id=account_id)

    async def queue(self, account_id: str, *, at: datetime) -> Row:
        """The account's room work that is not done."""
        row = await self._one("find_queue", account_id=account_id, now=at)
        if row is None:
            raise Broken("a count gave no row")
        return row

    async def breaker(self, account_id: str) -> Literal["closed", "open", "half_open"]:
        """`closed`, `open` or `half_open`."""
        row = await self._one("find_breaker", account_id=account_id)
        return "closed" if row is None else cast("Literal['closed', 'open', 'half_open']", row["state"])

    async def pauses(self, account_id: str, *, at: datetime) -> list[Row]:
        """Whom nobody calls for at the moment."""
        return await self._many("list_pauses", account_id=account_id, now=at)

    async def _one(self, name: str, **values: Any) -> Row | None:
        async with self._database.connection(name) as connection:
            return await (await connection.execute(queries("ingress")[name], values)).fetchone()

    async def _many(self, name: str, *, prepare: bool | None = None, **values: Any) -> list[Row]:
        async with self._database.connection(name) as connection:
            cursor = await connection.execute(queries("ingress")[name], values, prepare=prepare)
            return list(await cursor.fetchall())


def _meeting(row: Row) -> MeetingShape:
    if row["state"] is not None:
        return MeetingShape.of_state(decode(bytes(row["state"]), MeetingState))
    accepted_at: datetime = row["created_at"]
    details = DetailsShape.model_validate(row["details"])
    return MeetingShape.pending(details, meeting_id=str(row["meeting_id"]), accepted_at=accepted_at)


def _registrant(row: Row) -> RegistrantShape:
    return RegistrantShape.of_state(decode(bytes(row["state"]), RegistrantState), room=row["room"])
