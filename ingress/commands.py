"""Accepting commands: recorded in PostgreSQL, then produced to Kafka, then acknowledged to the caller.

Guarantees: a command that a caller was told of is in Kafka; the same key with other content is refused before anything
is produced; the same key with the same content gives the same command, and produces it again as long as its first
acknowledgement is not known. `decide` stays the authority: it sees every command, and a repeat changes nothing there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import structlog
from psycopg.types.json import Jsonb

from ingress.api.shapes import DetailsShape
from ingress.problems import Problem, unavailable
from runtime.clock import Clock
from runtime.kafka.async_producer import AsyncProducer
from runtime.kafka.producer import Outgoing
from runtime.postgres import AsyncDatabase
from runtime.queries import queries
from runtime.topics import MEETING_COMMANDS, physical
from schemas.codec import encode
from schemas.errors import RoomkeeperError, Unavailable
from schemas.ids import CommandId, MeetingId
from schemas.records.meeting_commands import CancelMeeting, ChangeMeeting, CreateMeeting

Command = CreateMeeting | ChangeMeeting | CancelMeeting


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A command that is in Kafka."""

    command_id: CommandId
    meeting_id: MeetingId
    status: str
    """`pending` the first time; a repeat finds what has become of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """The row of a command."""

    request_hash: bytes
    accepted_at: datetime
    produced_at: datetime | None
    status: str


class CommandGate:
    """Takes callers' commands."""

    def __init__(self, *, database: AsyncDatabase, producer: AsyncProducer, clock: Clock, topic_prefix: str) -> None:
        """All parts are made elsewhere."""
        self._database = database
        self._producer = producer
        self._clock = clock
        self._topic = physical(MEETING_COMMANDS, prefix=topic_prefix)
        self._log = structlog.get_logger("roomkeeper.ingress")

    async def accept(self, command: Command) -> Receipt:
        """The receipt, once the broker has the command.

        Raises:
            Problem: its key was used for other content, or Kafka or the database does not answer.
        """
        try:
            record = await self._recorded(command)
        except Unavailable as error:
            raise unavailable("The database does not answer.", retry_after_seconds=error.retry_after_seconds) from error
        if record.request_hash != command.request_hash:
            raise Problem("idempotency_key_reused", "This key was used with other content before.")
        if record.status == "pending" and record.produced_at is None:
            # As it was recorded, so that a first copy that did arrive is the same record.
            await self._produce(replace(command, issued_at=record.accepted_at))
        return Receipt(
            command_id=CommandId(command.command_id), meeting_id=MeetingId(command.meeting_id), status=record.status
        )

    async def _recorded(self, command: Command) -> _Record:
        """The command's row: the new one, or the one that stood there already."""
        async with self._database.connection("record a command") as connection:
            cursor = await connection.execute(queries("ingress")["record_command"], _row(command))
            if await cursor.fetchone() is not None:
                return _Record(
                    request_hash=command.request_hash, accepted_at=command.issued_at, produced_at=None, status="pending"
                )
            wanted = {"account_id": command.account_id, "command_id": command.command_id}
            found = await (await connection.execute(queries("ingress")["find_command"], wanted)).fetchone()
        if found is None:
            raise Problem("idempotency_key_reused", "This key was used for another command before.")
        return _Record(
            request_hash=bytes(found["request_hash"]),
            accepted_at=found["accepted_at"],
            produced_at=found["produced_at"],
            status=found["status"],
        )

    async def _produce(self, command: Command) -> None:
        record = Outgoing(topic=self._topic, key=command.meeting_id.encode(), value=encode(command))
        try:
            await self._producer.deliver(record)
        except RoomkeeperError as error:
            self._log.warning("ingress.command_unsent", command_id=command.command_id, error=str(error))
            raise unavailable("The command could not be handed to Kafka in time.") from error
        await self._mark_produced(command)

    async def _mark_produced(self, command: Command) -> None:
        """Notes the acknowledgement. The command is safe already: should this fail, a repeat sends it once more."""
        values = {"command_id": command.command_id, "at": self._clock.now()}
        try:
            async with self._database.connection("note a command's acknowledgement") as connection:
                await connection.execute(queries("ingress")["mark_produced"], values)
        except Unavailable as error:
            self._log.warning("ingress.command_unmarked", command_id=command.command_id, error=str(error))


def _row(command: Command) -> dict[str, Any]:
    details: Jsonb | None = None
    if isinstance(command, CreateMeeting):
        details = Jsonb(DetailsShape.of(command.details).model_dump(mode="json"))
    return {
        "command_id": command.command_id,
        "account_id": command.account_id,
        "meeting_id": command.meeting_id,
        "command": type(command).__name__,
        "idempotency_key": command.idempotency_key,
        "request_hash": command.request_hash,
        "at": command.issued_at,
        "details": details,
    }
