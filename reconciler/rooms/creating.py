"""Making a room, once: whoever does not know what became of an earlier call looks for its room first."""

from __future__ import annotations

from reconciler.rooms.delays import Delays
from reconciler.rooms.keeping import Keeping
from reconciler.rooms.lookup import Found, NotFound, Unclear, look_up
from reconciler.rooms.queue import Queue
from reconciler.rooms.results import Concluded, Result
from reconciler.rooms.zoom import Job, RoomCalls
from runtime.clock import Clock
from schemas.ids import ZoomId
from schemas.records.meeting_commands import RoomFound
from zoom.client.client import Reply
from zoom.client.decisions import Decision


class Creating:
    """Works on requests to create."""

    def __init__(self, *, calls: RoomCalls, queue: Queue, delays: Delays, keeping: Keeping, clock: Clock) -> None:
        """All parts are made elsewhere."""
        self._calls = calls
        self._queue = queue
        self._delays = delays
        self._keeping = keeping
        self._clock = clock

    async def work(self, job: Job) -> Result:
        """Find the room of an earlier call, or make one, or say why there is none.

        Raises:
            LeaseLost: the claim does not hold any more.
        """
        if _is_served(job):
            return Concluded(outcome="dropped")
        if job.request.may_have_acted:
            earlier = await self._earlier(job)
            if earlier is not None:
                return earlier
        # From here on no room carries the key, as far as anybody can know.
        if not job.wanted:
            return Concluded(outcome="dropped")
        if job.meeting.details.start_at <= self._clock.now():
            message = "The meeting's start had passed before a room could be made."
            return Concluded(outcome="too_late", error_code="too_late", error_message=message)
        return self._made(job, await self._calls.create(job))

    async def _earlier(self, job: Job) -> Result | None:
        """What became of an earlier call; None when it is sure that no room came of it."""
        key = job.request.provider_key
        look = await look_up(job, calls=self._calls, queue=self._queue, is_ours=lambda found: found == key)
        match look:
            case Found(rooms=rooms):
                return await self._adopted(job, rooms)
            case Unclear(reply=reply) if reply.ruling.decision is Decision.REFUSE:
                # Zoom does not know the host, or lets it hold no meetings: there is no list, and no room in it.
                return None
            case Unclear(reply=reply):
                return self._keeping.after_look(job, reply)
            case NotFound(asked_at=asked_at):
                unknown_at = job.request.unknown_at or job.request.started_at or asked_at
                return None if asked_at >= self._delays.settled_at(unknown_at) else self._keeping.to_look_again(job)

    async def _adopted(self, job: Job, rooms: tuple[RoomFound, ...]) -> Result:
        """The found room, as a read shows it: then an update may be saved."""
        listed, others = rooms[0], rooms[1:]
        reply = await self._calls.read(job.request.account_id, listed.zoom_id, permit=job.lease.to_read)
        if reply.ruling.decision is Decision.GONE:
            return self._keeping.to_look_again(job)
        if reply.ruling.decision is not Decision.DONE:
            return Concluded(outcome="done", zoom_id=ZoomId(listed.zoom_id), room=listed, others=others)
        seen = self._calls.seen(reply, meeting=job.meeting, host=job.request.host, key=job.request.provider_key)
        # Another host, or other details: what the earlier call sent is not what is wanted now.
        current = not seen.differences and job.request.host == job.meeting.details.host
        return Concluded(
            outcome="done",
            zoom_id=ZoomId(seen.room.zoom_id),
            room=seen.room,
            version=job.meeting.version if current else None,
            seen=(seen.event,),
            others=others,
        )

    def _made(self, job: Job, reply: Reply) -> Result:
        match reply.ruling.decision:
            case Decision.DONE:
                seen = self._calls.seen(reply, meeting=job.meeting, host=job.request.host, key=job.request.provider_key)
                return Concluded(
                    outcome="done",
                    zoom_id=ZoomId(seen.room.zoom_id),
                    room=seen.room,
                    version=job.meeting.version,
                    differences=seen.differences,
                    seen=(seen.event,),
                )
            case Decision.REFUSE | Decision.GONE:
                return Concluded(outcome="failed", error_code=reply.code, error_message=reply.message)
            case _:
                return self._keeping.after_write(job, reply)


def _is_served(job: Job) -> bool:
    """Whether the meeting has a room, and a call of this request cannot have made another that nobody knows yet."""
    room = job.meeting.room
    if room is None or room.host != job.meeting.details.host:
        return False
    return not job.request.may_have_acted or room.provider_key == job.request.provider_key
