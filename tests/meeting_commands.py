"""Meeting commands as tests say them: a caller, an operator and a room worker who talk to one meeting."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas.codec import decode, encode
from schemas.ids import (
    AccountId,
    MeetingId,
    ProviderKey,
    command_id_for,
    meeting_id_for,
    outcome_id_for,
    registrant_key_for,
)
from schemas.records.meeting_commands import (
    AddRegistrant,
    CancelMeeting,
    ChangeMeeting,
    CreateMeeting,
    MeetingDetails,
    RecordRegistrantOutcome,
    RecordRoomOutcome,
    RetryRoom,
    RoomFound,
    SetRegistrant,
)
from schemas.records.meeting_events import CommandAnswer, MeetingEvent, MeetingState, RegistrantState
from schemas.requests import ChangeRequest, MeetingRequest, RegistrantDecision, RegistrantRequest, cancel_hash
from streams.fold import Folded, Input
from streams.meetings.answering import AnyCommand
from streams.meetings.fold import Entry, MeetingsFold, meeting_key, registrant_entry_key

ACCOUNT = AccountId("acc0000000000000000001")
T0 = datetime(2026, 3, 10, 10, tzinfo=UTC)
HOST = "host-01@example.com"


def request(**other: Any) -> MeetingRequest:
    """The usual meeting, but for what is named."""
    usual: dict[str, Any] = {
        "host": HOST,
        "topic": "Planning call",
        "start_time": "2026-03-20T09:00:00",
        "timezone": "Europe/Madrid",
    }
    return MeetingRequest.model_validate(usual | other)


def details(**other: Any) -> MeetingDetails:
    """The usual meeting's details, but for what is named."""
    return request(**other).details()


@dataclass(slots=True, kw_only=True)
class Caller:
    """Makes commands for the meeting of one idempotency key."""

    key: str = "cmd-0001"
    account: AccountId = ACCOUNT
    _count: int = field(default=0, repr=False)

    @property
    def meeting_id(self) -> MeetingId:
        """The meeting of this key."""
        return meeting_id_for(self.account, self.key)

    def create(self, **other: Any) -> CreateMeeting:
        """A create; the same key makes the same command id."""
        asked = request(**other)
        return CreateMeeting(
            command_id=command_id_for(self.account, self.meeting_id, self.key),
            account_id=self.account,
            meeting_id=self.meeting_id,
            issued_at=T0,
            issued_by="key:test",
            idempotency_key=self.key,
            request_hash=asked.request_hash(),
            details=asked.details(),
        )

    def change(self, key: str | None = None, *, expected_version: int | None = None, **named: Any) -> ChangeMeeting:
        """A change; without a key each is another command."""
        asked = ChangeRequest.model_validate(named)
        return ChangeMeeting(
            **self._common(key),
            idempotency_key=key,
            request_hash=asked.request_hash(expected_version=expected_version),
            expected_version=expected_version,
            changes=asked.changes(),
        )

    def cancel(self, key: str | None = None, *, expected_version: int | None = None) -> CancelMeeting:
        """A cancellation."""
        return CancelMeeting(
            **self._common(key),
            idempotency_key=key,
            request_hash=cancel_hash(reason="", expected_version=expected_version),
            expected_version=expected_version,
            reason="",
        )

    def retry(self) -> RetryRoom:
        """An operator's wish."""
        return RetryRoom(**self._common(None), reason="asked")

    def add(self, email: str = "guest.one@example.com", key: str | None = None, **other: str) -> AddRegistrant:
        """A person to register."""
        asked = RegistrantRequest.model_validate({"email": email, "first_name": "Guest", "last_name": "One", **other})
        return AddRegistrant(
            **self._common(key), idempotency_key=key, request_hash=asked.request_hash(), **asked.model_dump()
        )

    def set(self, action: str, email: str = "guest.one@example.com", key: str | None = None) -> SetRegistrant:
        """A decision about a person."""
        asked = RegistrantDecision.model_validate({"email": email, "action": action})
        return SetRegistrant(
            **self._common(key), idempotency_key=key, request_hash=asked.request_hash(), **asked.model_dump()
        )

    def _common(self, key: str | None) -> dict[str, Any]:
        self._count += 1
        return {
            "command_id": command_id_for(self.account, self.meeting_id, key or f"unnamed-{self._count}"),
            "account_id": self.account,
            "meeting_id": self.meeting_id,
            "issued_at": T0 + timedelta(seconds=self._count),
            "issued_by": "key:test",
        }


def room(
    zoom_id: str = "91000000001", *, host: str = HOST, provider_key: str | None = None, shown: str = "{}"
) -> RoomFound:
    """A room as Zoom answered it."""
    return RoomFound(
        zoom_id=zoom_id,
        uuid=f"uuid/{zoom_id}==",
        host_id="hostAAAAAAAAAAAAAAAA1",
        host=host,
        join_url=f"https://example.com/j/{zoom_id}",
        provider_key=provider_key,
        shown=shown,
        shown_at=T0,
    )


def report(
    meeting_id: str,
    provider_key: str,
    outcome: str = "done",
    *,
    kind: str = "outcome",
    epoch: int = 1,
    **other: Any,
) -> RecordRoomOutcome:
    """A report of the room worker about one piece of work."""
    found: RoomFound | None = other.get("room")
    zoom_id = other.pop("zoom_id", found.zoom_id if found else None)
    return RecordRoomOutcome(
        command_id=outcome_id_for(kind, ProviderKey(provider_key), epoch, f"{zoom_id}|{outcome}|{other}"),
        account_id=ACCOUNT,
        meeting_id=meeting_id,
        issued_at=T0 + timedelta(seconds=epoch),
        issued_by="worker:test",
        kind=kind,
        provider_key=provider_key,
        epoch=epoch,
        action=provider_key.split(":")[1],
        outcome=outcome,
        attempts=1,
        zoom_id=zoom_id,
        **other,
    )


def registered(
    state: RegistrantState, outcome: str = "done", *, kind: str = "outcome", epoch: int = 1, **other: Any
) -> RecordRegistrantOutcome:
    """A report about the oldest pending work of a registrant."""
    work = state.pending[0]
    key, action = other.pop("provider_key", work.provider_key), other.pop("action", work.action)
    return RecordRegistrantOutcome(
        command_id=outcome_id_for(kind, ProviderKey(key), epoch, outcome),
        account_id=state.account_id,
        meeting_id=state.meeting_id,
        issued_at=T0 + timedelta(seconds=epoch),
        issued_by="worker:test",
        kind=kind,
        provider_key=key,
        epoch=epoch,
        action=action,
        outcome=outcome,
        attempts=1,
        email=state.email,
        **other,
    )


class Table:
    """A meetings table in memory with the fold over it."""

    def __init__(self) -> None:
        """Empty."""
        self.entries: dict[str, Entry] = {}
        self.events: list[MeetingEvent] = []
        self._fold = MeetingsFold()
        self._offset = 0

    def put(self, command: AnyCommand, *, key: str | None = None) -> MeetingEvent:
        """Fold a command; the event that answers it."""
        folded = self.fold(command, key=key)
        (output,) = folded.outputs
        event = decode(output.value, MeetingEvent)
        self.events.append(event)
        return event

    def fold(self, command: AnyCommand, *, key: str | None = None) -> Folded[Entry]:
        """Fold a command."""
        record = Input(
            topic="meeting-commands",
            partition=0,
            offset=self._offset,
            timestamp_ms=0,
            key=command.meeting_id if key is None else key,
            value=encode(command),
        )
        folded = self._fold.fold(record, self.entries.get, generation=0)
        self._offset += 1
        # Through bytes and back, as the engine keeps them.
        self.entries |= {name: self._fold.decode(self._fold.encode(entry)) for name, entry in folded.entries.items()}
        return folded

    def meeting(self, caller: Caller) -> MeetingState:
        """The caller's meeting."""
        entry = self.entries[meeting_key(caller.account, caller.meeting_id)]
        assert isinstance(entry, MeetingState)
        return entry

    def registrant(self, caller: Caller, email: str = "guest.one@example.com") -> RegistrantState:
        """The person's entry."""
        person = registrant_key_for(caller.account, caller.meeting_id, email)
        entry = self.entries[registrant_entry_key(caller.account, caller.meeting_id, person)]
        assert isinstance(entry, RegistrantState)
        return entry

    def registrants(self) -> tuple[RegistrantState, ...]:
        """All people."""
        return tuple(entry for entry in self.entries.values() if isinstance(entry, RegistrantState))

    def answers(self) -> tuple[CommandAnswer, ...]:
        """All answers."""
        return tuple(entry for entry in self.entries.values() if isinstance(entry, CommandAnswer))

    def work(self, caller: Caller) -> tuple[str, ...]:
        """Pending work as `action:n`, with `@room` where the room is known."""
        return tuple(
            f"{work.action}:{work.n}{f'@{work.zoom_id}' if work.zoom_id else ''}"
            for work in self.meeting(caller).pending
        )

    def key(self, caller: Caller, action: str) -> str:
        """Provider key of the pending work of one kind."""
        (key,) = (work.provider_key for work in self.meeting(caller).pending if work.action == action)
        return key


def ready(caller: Caller, **other: object) -> Table:
    """A meeting with its room 91000000001."""
    table = Table()
    table.put(caller.create(**other))
    table.put(
        report(caller.meeting_id, table.key(caller, "create"), room=room(shown='{"topic":"Planning call"}'), version=1)
    )
    return table


def second_rooms(meeting: MeetingState) -> tuple[str, ...]:
    """Numbers of the rooms in excess."""
    return tuple(each.zoom_id for each in meeting.second_rooms)
