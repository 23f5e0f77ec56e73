"""The relay of one outbox: rows to `meeting-commands`, in order per meeting, by any number of processes at once.

Guarantees: a row is deleted only after the broker has acknowledged its command, in the transaction that held it; rows
of one meeting are sent in the order of their ids; a relay that dies leaves its rows, and a command that was sent twice
is one command. A bad row is set aside with its reason and holds nobody up.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import structlog

from reconciler.outbox.rows import REASON_CHARS, Row, command_of
from reconciler.rooms.reporting import Sender
from runtime.clock import Clock
from runtime.kafka.producer import Delivery, Outgoing
from runtime.metrics.catalogue.rooms import OUTBOX_ROWS
from runtime.metrics.registry import Metrics
from runtime.postgres import AsyncConnection, AsyncDatabase
from runtime.queries import queries
from runtime.topics import MEETING_COMMANDS, physical
from schemas.codec import encode
from schemas.errors import BadMessage, Unavailable
from schemas.ids import AccountId

ROWS = 200
"""Rows of one transaction; it holds them until the broker has all of them."""


class Relay:
    """Moves rows of one caller's outbox."""

    def __init__(
        self,
        database: AsyncDatabase,
        *,
        sender: Sender,
        name: str,
        account_id: str,
        clock: Clock,
        topic_prefix: str,
        metrics: Metrics | None = None,
    ) -> None:
        """`database` is the caller's own; every command is this account's."""
        self._metrics = metrics or Metrics()
        self._database = database
        self._sender = sender
        self._name = name
        self._account_id = AccountId(account_id)
        self._clock = clock
        self._topic = physical(MEETING_COMMANDS, prefix=topic_prefix)
        self._log = structlog.get_logger("roomkeeper.outbox")

    async def run_once(self) -> int:
        """Move what is there, and say how many rows that were.

        Raises:
            Unavailable: the caller's database or the broker is away; no row is deleted that the broker may not have.
        """
        async with self._database.connection("relay an outbox") as connection:
            cursor = await connection.execute(queries("reconciler")["take_outbox_rows"], {"rows": ROWS})
            rows = await cursor.fetchall()
            moved = await self._send(rows)
            await self._settle(connection, moved)
        for outcome, number in (("moved", len(moved.sent)), ("rejected", len(moved.rejected))):
            self._metrics.counter(OUTBOX_ROWS, outbox=self._name, outcome=outcome).inc(number)
        if moved.trouble is not None:
            raise moved.trouble
        return len(rows)

    async def _send(self, rows: Sequence[Row]) -> _Moved:
        """Hand the rows over, of each meeting one after the other: a row waits until the one before it is there."""
        moved = _Moved()
        waiting = deque(_by_meeting(rows))
        while waiting:
            sending: list[tuple[deque[Row], Outgoing]] = []
            for queue in waiting:
                while queue and (record := self._record(queue[0], moved)) is None:
                    queue.popleft()
                if queue and record is not None:
                    sending.append((queue, record))
            outcomes = await asyncio.gather(*(self._deliver(each) for _, each in sending), return_exceptions=True)
            waiting.clear()
            for (queue, _), outcome in zip(sending, outcomes, strict=True):
                if moved.note(queue.popleft(), outcome) and queue:
                    waiting.append(queue)
        return moved

    async def _deliver(self, record: Outgoing) -> Delivery:
        return await self._sender.deliver(record)

    async def _settle(self, connection: AsyncConnection, moved: _Moved) -> None:
        """Delete what the broker has, set aside what cannot be a command."""
        if moved.sent:
            await connection.execute(queries("reconciler")["delete_outbox_rows"], {"ids": moved.sent})
        if moved.rejected:
            values = {"ids": list(moved.rejected), "reasons": list(moved.rejected.values()), "now": self._clock.now()}
            await connection.execute(queries("reconciler")["reject_outbox_rows"], values)
        if moved.sent or moved.rejected:
            self._log.info("outbox.moved", outbox=self._name, rows=len(moved.sent), rejected=len(moved.rejected))

    def _record(self, row: Row, moved: _Moved) -> Outgoing | None:
        """The record of a row; None where it cannot be a command, which is noted."""
        try:
            command = command_of(row, account_id=self._account_id, issued_by=f"outbox:{self._name}")
        except BadMessage as error:
            moved.reject(row, error)
            return None
        return Outgoing(topic=self._topic, key=command.meeting_id.encode(), value=encode(command))


@dataclass(slots=True)
class _Moved:
    """What became of rows so far."""

    sent: list[int] = field(default_factory=list)
    rejected: dict[int, str] = field(default_factory=dict)
    trouble: Unavailable | None = None

    def note(self, row: Row, outcome: Delivery | BaseException) -> bool:
        """Keep what became of a row; False where the rows after it must wait."""
        match outcome:
            case BadMessage():
                self.reject(row, outcome)
            case Unavailable():
                self.trouble = outcome
                return False
            case BaseException():
                raise outcome
            case _:
                self.sent.append(row["id"])
        return True

    def reject(self, row: Row, error: BadMessage) -> None:
        """Set a row aside."""
        self.rejected[row["id"]] = str(error)[:REASON_CHARS]


def _by_meeting(rows: Sequence[Row]) -> Iterable[deque[Row]]:
    meetings: defaultdict[str, deque[Row]] = defaultdict(deque)
    for row in rows:
        meetings[row["meeting_key"]].append(row)
    return meetings.values()
