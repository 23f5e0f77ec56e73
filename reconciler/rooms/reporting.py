"""What the room worker tells the others: outcomes to `meeting-commands`, what it saw of rooms to `zoom-events`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol

from reconciler.rooms.queue import Request
from reconciler.rooms.results import Concluded
from runtime.clock import Clock
from runtime.kafka.producer import Delivery, Outgoing
from runtime.topics import MEETING_COMMANDS, ZOOM_EVENTS, physical
from schemas.codec import encode
from schemas.ids import ProviderKey, meeting_id_of, outcome_id_for
from schemas.records.meeting_commands import AddRegistrant, RecordRegistrantOutcome, RecordRoomOutcome, RoomFound
from schemas.records.meeting_events import MeetingRoom, MeetingState
from schemas.records.zoom_events import ZoomEvent

Report = RecordRoomOutcome | RecordRegistrantOutcome
OUTCOME, LATE_REPORT, READ_BACK, SWEEP = "outcome", "late_report", "read_back", "sweep"


class Sender(Protocol):
    """Hands records to the broker."""

    def deliver(self, record: Outgoing) -> Awaitable[Delivery]:
        """Where the record lies, once it is acknowledged. Raises `Unavailable` in time."""


class Reporter:
    """Reports of one worker. When a method returns, the broker has acknowledged every record of it."""

    def __init__(self, sender: Sender, *, worker: str, clock: Clock, topic_prefix: str) -> None:
        """`worker` names the process in the records."""
        self._sender = sender
        self._issued_by = f"worker:{worker}"
        self._clock = clock
        self._commands = physical(MEETING_COMMANDS, prefix=topic_prefix)
        self._events = physical(ZOOM_EVENTS, prefix=topic_prefix)

    async def conclude(self, request: Request, concluded: Concluded, *, kind: str, email: str | None = None) -> None:
        """An outcome, or a late report of one; with it what was seen on the way, and other rooms that were met.

        `email` names the person in work about a registrant.

        Raises:
            Unavailable: the broker did not acknowledge in time.
        """
        reports: list[Report] = [self._met(request, room) for room in concluded.others]
        if not request.concerns_registrant:
            reports.append(self._outcome(request, concluded, kind=kind))
        elif email is not None:
            reports.append(self._registrant_outcome(request, concluded, kind=kind, email=email))
        await self._send([*map(self._command, reports), *map(self._event, concluded.seen)])

    async def observe(self, events: Iterable[ZoomEvent]) -> None:
        """What was seen of rooms. Raises `Unavailable`."""
        await self._send([self._event(event) for event in events])

    async def tell(self, *reports: RecordRoomOutcome) -> None:
        """Reports that belong to no claim. Raises `Unavailable`."""
        await self._send([self._command(report) for report in reports])

    async def ask(self, *commands: AddRegistrant) -> None:
        """Wishes that a caller could have. Raises `Unavailable`."""
        await self._send([self._command(command) for command in commands])

    def found(self, account_id: str, room: RoomFound) -> RecordRoomOutcome:
        """The report of a room that carries a key, wherever it was met."""
        key = ProviderKey(room.provider_key or "")
        return RecordRoomOutcome(
            **self._unclaimed(SWEEP, key, zoom_id=room.zoom_id, at=room.shown_at),
            account_id=account_id,
            action="create",
            outcome="done",
            room=room,
        )

    def looked(
        self,
        meeting: MeetingState,
        room: MeetingRoom,
        *,
        kind: str,
        at: datetime,
        found: RoomFound | None = None,
        differences: tuple[str, ...] = (),
    ) -> RecordRoomOutcome:
        """The report of a look at a meeting's own room: what it shows, or that it is gone."""
        return RecordRoomOutcome(
            **self._unclaimed(kind, ProviderKey(room.provider_key), zoom_id=room.zoom_id, at=at),
            account_id=meeting.account_id,
            action="update",
            outcome="gone" if found is None else "done",
            version=meeting.version,
            room=found,
            differences=differences,
        )

    def _unclaimed(self, kind: str, key: ProviderKey, *, zoom_id: str, at: datetime) -> dict[str, Any]:
        """What reports without a claim share. A later look is another report."""
        return {
            "command_id": outcome_id_for(kind, key, 0, f"{zoom_id}:{at.isoformat()}"),
            "meeting_id": meeting_id_of(key),
            "issued_at": self._clock.now(),
            "issued_by": self._issued_by,
            "kind": kind,
            "provider_key": key,
            "epoch": 0,
            "attempts": 0,
            "zoom_id": zoom_id,
        }

    def _met(self, request: Request, room: RoomFound) -> RecordRoomOutcome:
        return self.found(request.account_id, room)

    def _outcome(self, request: Request, concluded: Concluded, *, kind: str) -> RecordRoomOutcome:
        told = f"{concluded.zoom_id or ''}:{concluded.outcome}"
        return RecordRoomOutcome(
            **self._claimed(request, concluded, kind=kind, told=told),
            version=concluded.version,
            room=concluded.room,
            differences=concluded.differences,
        )

    def _registrant_outcome(
        self, request: Request, concluded: Concluded, *, kind: str, email: str
    ) -> RecordRegistrantOutcome:
        registered = concluded.registered
        return RecordRegistrantOutcome(
            **self._claimed(request, concluded, kind=kind, told=concluded.outcome),
            email=email,
            registrant_id=registered.registrant_id if registered else None,
            join_url=registered.join_url if registered else None,
            status=registered.status if registered else None,
        )

    def _claimed(self, request: Request, concluded: Concluded, *, kind: str, told: str) -> dict[str, Any]:
        """What reports about a claim share; `told` tells those of one kind apart."""
        return {
            "command_id": outcome_id_for(kind, request.provider_key, request.epoch, told),
            "account_id": request.account_id,
            "meeting_id": request.meeting_id,
            "issued_at": self._clock.now(),
            "issued_by": self._issued_by,
            "kind": kind,
            "provider_key": request.provider_key,
            "epoch": request.epoch,
            "action": request.action,
            "outcome": concluded.outcome,
            "attempts": request.attempts,
            "zoom_id": concluded.zoom_id,
            "error_code": concluded.error_code,
            "error_message": concluded.error_message,
        }

    def _command(self, command: Report | AddRegistrant) -> Outgoing:
        return Outgoing(topic=self._commands, key=command.meeting_id.encode(), value=encode(command))

    def _event(self, event: ZoomEvent) -> Outgoing:
        key = event.zoom_id or f"account:{event.account_id}"
        return Outgoing(topic=self._events, key=key.encode(), value=encode(event))

    async def _send(self, records: Sequence[Outgoing]) -> None:
        """All are handed over before any is waited for."""
        if len(records) == 1:
            await self._sender.deliver(records[0])
        else:
            await asyncio.gather(*map(self._sender.deliver, records))
