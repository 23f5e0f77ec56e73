"""Identifiers: their types, and how those that are derived are made.

Every derived id is a UUIDv5 over length-prefixed parts, so that no two different lists of parts share one text.
"""

from __future__ import annotations

from hashlib import sha1
from typing import NewType
from uuid import UUID

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
_NAMESPACE_BYTES = NAMESPACE.bytes
_UUID_VARIANT = {digit: f"{int(digit, 16) & 0x3 | 0x8:x}" for digit in "0123456789abcdef"}
"""The digit that holds a UUID's variant in its upper two bits, by the digit of the hash."""


def derive(kind: str, *parts: str) -> str:
    """UUIDv5 text over a kind and its parts: `str(uuid5(NAMESPACE, ...))`, without building the UUID."""
    name = "".join([f"{len(part)}:{part}" for part in (kind, *parts)])
    text = sha1(_NAMESPACE_BYTES + name.encode(), usedforsecurity=False).hexdigest()
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_UUID_VARIANT[text[16]]}{text[17:20]}-{text[20:32]}"


def meeting_id_for(account_id: AccountId, idempotency_key: str) -> MeetingId:
    """The meeting that a create with this key makes: a repeated create is the same meeting."""
    return MeetingId(derive("meeting", account_id, idempotency_key))


def command_id_for(account_id: AccountId, meeting_id: MeetingId, idempotency_key: str, *, place: int = 0) -> CommandId:
    """The command that a caller's idempotency key names for one meeting; of several in one request, that at a place."""
    places = (str(place),) if place else ()
    return CommandId(derive("command", account_id, meeting_id, idempotency_key, *places))


def output_id_for(cause_id: str, kind: str) -> EventId:
    """The id of an output event: its cause's id and its kind."""
    return EventId(derive("output", cause_id, kind))


def provider_key_for(meeting_id: MeetingId, action: str, n: int) -> ProviderKey:
    """The name of the n-th piece of work for a meeting's room."""
    return ProviderKey(f"{meeting_id}:{action}:{n}")


def registrant_key_for(account_id: AccountId, meeting_id: MeetingId, email: str) -> str:
    """The person whom an e-mail address names for one meeting, however it is written."""
    return derive("registrant", account_id, meeting_id, email.strip().casefold())


def registrant_work_key_for(meeting_id: MeetingId, action: str, registrant_key: str, n: int) -> ProviderKey:
    """The name of the n-th piece of work for a registrant."""
    return ProviderKey(f"{meeting_id}:{action}:{registrant_key}.{n}")


def meeting_id_of(provider_key: ProviderKey) -> MeetingId:
    """The meeting that a provider key belongs to."""
    return MeetingId(provider_key.partition(":")[0])


def outcome_id_for(kind: str, provider_key: ProviderKey, epoch: int, room: str) -> CommandId:
    """The command that reports one call: the same report sent again is the same command.

    `room` tells reports of one kind apart.
    """
    return CommandId(derive("outcome", kind, provider_key, str(epoch), room))
