"""Identifiers: their types, and how those that are derived are made.

Every derived id is a UUIDv5 over length-prefixed parts, so that no two different lists of parts share one text.
"""

from __future__ import annotations

from typing import NewType
from uuid import UUID, uuid5

AccountId = NewType("AccountId", str)
"""The Zoom account: the tenant."""
MeetingId = NewType("MeetingId", str)
"""Our meeting, a UUID in text form; key of `meeting-commands` and `meeting-events`."""
ZoomId = NewType("ZoomId", str)
"""Zoom's meeting number, always text; key of `zoom-events` and `room-events`."""
InstanceUuid = NewType("InstanceUuid", str)
"""One run of a room: Zoom's `uuid`, which may hold `/`, `+` and `=`."""
CommandId = NewType("CommandId", str)
"""One command, a UUID in text form; the same id again gets the same answer."""
EventId = NewType("EventId", str)
"""What an event is about and when it happened, as a UUID in text form; equal for every delivery of one event."""
ProviderKey = NewType("ProviderKey", str)
"""`meeting:action:n`: names one piece of room work for ever, and is written into the room it makes."""

NAMESPACE = UUID("6f1d6a4e-8a3b-5d0e-9a57-52a1b6c0a7d1")


def derive(kind: str, *parts: str) -> str:
    """UUIDv5 text over a kind and its parts."""
    return str(uuid5(NAMESPACE, "".join(f"{len(part)}:{part}" for part in (kind, *parts))))


def meeting_id_for(account_id: AccountId, idempotency_key: str) -> MeetingId:
    """The meeting that a create with this key makes: a repeated create is the same meeting."""
    return MeetingId(derive("meeting", account_id, idempotency_key))


def command_id_for(account_id: AccountId, meeting_id: MeetingId, idempotency_key: str) -> CommandId:
    """The command that a caller's idempotency key names for one meeting."""
    return CommandId(derive("command", account_id, meeting_id, idempotency_key))


def output_id_for(cause_id: str, kind: str) -> EventId:
    """The id of an output event: its cause's id and its kind."""
    return EventId(derive("output", cause_id, kind))
