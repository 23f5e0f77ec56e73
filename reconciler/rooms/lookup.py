"""Looking for a room by its key: in its host's list, then among rooms that webhooks announced for the host.

A room counts only when it carries the key itself; topic and time prove nothing. That nothing was found counts only when
everything was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.rooms.queue import Queue
from reconciler.rooms.zoom import Job, RoomCalls, listed_room
from schemas.ids import ProviderKey
from schemas.records.meeting_commands import RoomFound
from zoom.client.client import Reply
from zoom.client.decisions import Decision

SLACK = timedelta(minutes=10)
"""Clocks differ, and a call may have begun before its row was marked by another process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Rooms that carry a key, the oldest first."""

    rooms: tuple[RoomFound, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotFound:
    """No room carries such a key, as far as Zoom showed when it was asked."""

    asked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """Not everything could be seen."""

    reply: Reply


Look = Found | NotFound | Unclear


async def look_up(job: Job, *, calls: RoomCalls, queue: Queue, is_ours: Callable[[ProviderKey], bool]) -> Look:
    """Whether there is a room with a key that `is_ours`.

    Raises:
        LeaseLost: the claim does not hold any more.
    """
    request = job.request
    listing = await calls.listing(request.account_id, request.host, permit=job.lease.to_read)
    listed = (
        listed_room(item, host=request.host, key=key, reply=listing.reply)
        for item in sorted(listing.rooms, key=lambda each: str(each.get("created_at")))
        if (key := calls.key_of(request.account_id, item)) is not None and is_ours(key)
    )
    found = tuple(room for room in listed if room is not None)
    if found:
        return Found(rooms=found)
    if not listing.complete or listing.reply.answer is None:
        return Unclear(reply=listing.reply)
    announced = await _announced(job, calls=calls, queue=queue, is_ours=is_ours)
    return announced or NotFound(asked_at=listing.reply.answer.sent_at)


async def _announced(
    job: Job, *, calls: RoomCalls, queue: Queue, is_ours: Callable[[ProviderKey], bool]
) -> Found | Unclear | None:
    request = job.request
    began_at = (request.started_at or request.unknown_at or job.meeting.created_at) - SLACK
    numbers = await queue.announced(
        request.account_id, host=request.host, topic=job.meeting.details.topic, since_at=began_at
    )
    return await _read_each(job, numbers, calls=calls, is_ours=is_ours)


async def _read_each(
    job: Job, numbers: Iterable[str], *, calls: RoomCalls, is_ours: Callable[[ProviderKey], bool]
) -> Found | Unclear | None:
    for zoom_id in numbers:
        reply = await calls.read(job.request.account_id, zoom_id, permit=job.lease.to_read)
        if reply.ruling.decision in (Decision.RETRY, Decision.PARK, Decision.ALERT):
            return Unclear(reply=reply)
        if reply.ruling.decision is Decision.DONE:
            key = calls.key_of(job.request.account_id, reply.document)
            room = listed_room(reply.document, host=job.request.host, key=key, reply=reply)
            if key is not None and is_ours(key) and room is not None:
                return Found(rooms=(room,))
    return None
