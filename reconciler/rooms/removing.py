"""Taking rooms away: those of cancelled meetings, and second rooms. A room with people in it is left until they go."""

from __future__ import annotations

from reconciler.rooms.delays import Delays
from reconciler.rooms.keeping import Keeping
from reconciler.rooms.lookup import Found, NotFound, Unclear, look_up
from reconciler.rooms.queue import Queue
from reconciler.rooms.results import Concluded, Result
from reconciler.rooms.zoom import Job, RoomCalls
from schemas.ids import ProviderKey, ZoomId, meeting_id_of
from schemas.records.meeting_commands import RoomFound
from zoom.client.client import Reply
from zoom.client.decisions import Decision


class Removing:
    """Works on requests to cancel and to remove."""

    def __init__(self, *, calls: RoomCalls, queue: Queue, delays: Delays, keeping: Keeping) -> None:
        """All parts are made elsewhere."""
        self._calls = calls
        self._queue = queue
        self._delays = delays
        self._keeping = keeping

    async def cancel(self, job: Job) -> Result:
        """Delete the meeting's room; where none is known, look for one that carries any key of the meeting.

        Raises:
            LeaseLost: the claim does not hold any more.
        """
        known = job.request.zoom_id or (job.meeting.room.zoom_id if job.meeting.room else None)
        if known is not None:
            return await self._delete(job, ZoomId(known))
        meeting_id = job.request.meeting_id
        look = await look_up(
            job, calls=self._calls, queue=self._queue, is_ours=lambda key: meeting_id_of(key) == meeting_id
        )
        match look:
            case Found(rooms=rooms):
                return await self._delete(job, ZoomId(rooms[0].zoom_id), others=rooms[1:])
            case Unclear(reply=reply) if reply.ruling.decision is Decision.REFUSE:
                return Concluded(outcome="gone")
            case Unclear(reply=reply):
                return self._keeping.after_look(job, reply)
            case NotFound(asked_at=asked_at):
                # The create before it was seen to its end, unless a rebuild forgot it: then its call may be under way.
                unknown_at = job.request.unknown_at or asked_at
                early = job.request.retried and asked_at < self._delays.settled_at(unknown_at)
                return self._keeping.to_look_again(job) if early else Concluded(outcome="gone")

    async def remove(self, job: Job) -> Result:
        """Delete a second room, when it is surely one: it carries the meeting's key and is not the meeting's room.

        Raises:
            LeaseLost: the claim does not hold any more.
        """
        zoom_id = job.request.zoom_id
        if zoom_id is None or (job.meeting.room is not None and job.meeting.room.zoom_id == zoom_id):
            return Concluded(outcome="dropped", zoom_id=zoom_id)
        reply = await self._calls.read(job.request.account_id, zoom_id, permit=job.lease.to_read)
        if reply.ruling.decision is Decision.GONE:
            return Concluded(outcome="gone", zoom_id=zoom_id)
        if reply.ruling.decision is not Decision.DONE:
            return self._not_read(job, reply, zoom_id)
        seen = self._calls.seen(reply, meeting=job.meeting, host=job.request.host)
        key = seen.room.provider_key
        if key is None or meeting_id_of(ProviderKey(key)) != job.request.meeting_id:
            return Concluded(outcome="dropped", zoom_id=zoom_id)
        return self._keeping.while_running(job) if seen.running else await self._delete(job, zoom_id)

    def _not_read(self, job: Job, reply: Reply, zoom_id: ZoomId) -> Result:
        if reply.ruling.decision is Decision.REFUSE:
            return _failed(reply, zoom_id)
        return self._keeping.after_look(job, reply)

    async def _delete(self, job: Job, zoom_id: ZoomId, *, others: tuple[RoomFound, ...] = ()) -> Result:
        reply = await self._calls.delete(job, zoom_id=zoom_id)
        match reply.ruling.decision:
            case Decision.DONE:
                return Concluded(outcome="done", zoom_id=zoom_id, others=others)
            case Decision.GONE:
                return Concluded(outcome="gone", zoom_id=zoom_id, others=others)
            case Decision.REFUSE:
                return _failed(reply, zoom_id)
            case _:
                return self._keeping.after_write(job, reply)


def _failed(reply: Reply, zoom_id: ZoomId) -> Concluded:
    return Concluded(outcome="failed", zoom_id=zoom_id, error_code=reply.code, error_message=reply.message)
