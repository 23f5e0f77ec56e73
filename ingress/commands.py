"""Accepting commands: recorded in PostgreSQL, then produced to Kafka, then acknowledged to the caller.

Guarantees: a command that a caller was told of is in Kafka; the same key with other content is refused before anything
is produced; the same key with the same content gives the same command, and produces it again as long as its first
acknowledgement is not known. `decide` stays the authority: it sees every command, and a repeat changes nothing there.
Commands of one request are recorded together or not at all; when not all reach Kafka, a repeat sends the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
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
from schemas.ids import AccountId, CommandId, MeetingId, registrant_key_for
from schemas.records.meeting_commands import AddRegistrant, CancelMeeting, ChangeMeeting, CreateMeeting, SetRegistrant

RegistrantCommand = AddRegistrant | SetRegistrant
Command = CreateMeeting | ChangeMeeting | CancelMeeting | RegistrantCommand


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

    @property
    def is_unsent(self) -> bool:
        """Whether it is not known to be in Kafka."""
        return self.status == "pending" and self.produced_at is None


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
        (receipt,) = await self.accept_all([command])
        return receipt

    async def accept_all(self, commands: Sequence[Command]) -> list[Receipt]:
        """The receipts of one request's commands, once the broker has all of them; all are of one account.

        Raises:
            Problem: the key was used for other content, or Kafka or the database does not answer.
        """
        try:
            known = await self._recorded(commands)
        except Unavailable as error:
            raise unavailable("The database does not answer.", retry_after_seconds=error.retry_after_seconds) from error
        records = {command.command_id: known.get(command.command_id) or _fresh(command) for command in commands}
        if any(records[each.command_id].request_hash != each.request_hash for each in commands):
            raise Problem("idempotency_key_reused", "This key was used with other content before.")
        unsent = [each for each in commands if records[each.command_id].is_unsent]
        # As they were recorded, so that a first copy that did arrive is the same record.
        await self._produce([replace(each, issued_at=records[each.command_id].accepted_at) for each in unsent])
        return [
            Receipt(
                command_id=CommandId(each.command_id),
                meeting_id=MeetingId(each.meeting_id),
                status=records[each.command_id].status,
            )
            for each in commands
        ]

    async def _recorded(self, commands: Sequence[Command]) -> Mapping[str, _Record]:
        """Rows that stood there already, by command; the others are recorded now."""
        # In one order, so that two requests with the same commands wait for each other and never crosswise.
        rows = [_row(command) for command in sorted(commands, key=lambda each: each.command_id)]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        async with self._database.connection("record commands") as connection:
            cursor = await connection.execute(queries("ingress")["record_commands"], columns)
            made = {str(row["command_id"]) for row in await cursor.fetchall()}
            taken = [command.command_id for command in commands if command.command_id not in made]
            if not taken:
                return {}
            wanted = {"account_id": commands[0].account_id, "command_ids": taken}
            found = await (await connection.execute(queries("ingress")["find_recorded"], wanted)).fetchall()
        if len(found) < len(taken):
            raise Problem("idempotency_key_reused", "This key was used for another command before.")
        return {
            str(row["command_id"]): _Record(
                request_hash=bytes(row["request_hash"]),
                accepted_at=row["accepted_at"],
                produced_at=row["produced_at"],
                status=row["status"],
            )
            for row in found
        }

    async def _produce(self, commands: Sequence[Command]) -> None:
        if not commands:
            return
        sent = await asyncio.gather(*(self._deliver(command) for command in commands), return_exceptions=True)
        failed = [error for error in sent if isinstance(error, BaseException)]
        done = [each for each, result in zip(commands, sent, strict=True) if not isinstance(result, BaseException)]
        await self._mark_produced(done)
        if failed:
            if not isinstance(failed[0], RoomkeeperError):
                raise failed[0]
            self._log.warning("ingress.commands_unsent", commands=len(failed), error=str(failed[0]))
            raise unavailable("The command could not be handed to Kafka in time.") from failed[0]

    async def _deliver(self, command: Command) -> None:
        await self._producer.deliver(
            Outgoing(topic=self._topic, key=command.meeting_id.encode(), value=encode(command))
        )

    async def _mark_produced(self, commands: Sequence[Command]) -> None:
        """Notes the acknowledgement. They are safe already: should this fail, a repeat sends them once more."""
        if not commands:
            return
        values = {"command_ids": [command.command_id for command in commands], "at": self._clock.now()}
        try:
            async with self._database.connection("note the acknowledgement of commands") as connection:
                await connection.execute(queries("ingress")["mark_produced"], values)
        except Unavailable as error:
            self._log.warning("ingress.commands_unmarked", commands=len(commands), error=str(error))


def _fresh(command: Command) -> _Record:
    return _Record(request_hash=command.request_hash, accepted_at=command.issued_at, produced_at=None, status="pending")


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
        "registrant_key": _person(command) if isinstance(command, RegistrantCommand) else None,
    }


def _person(command: RegistrantCommand) -> str:
    return registrant_key_for(AccountId(command.account_id), MeetingId(command.meeting_id), command.email)
