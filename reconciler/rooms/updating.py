"""Bringing a room up to its meeting's details, and reading back what Zoom made of them."""

from __future__ import annotations

from dataclasses import replace

from reconciler.rooms.keeping import Keeping
from reconciler.rooms.results import Concluded, Result
from reconciler.rooms.zoom import Job, RoomCalls
from schemas.ids import ZoomId
from schemas.records.meeting_events import MeetingRoom
from zoom.client.client import Reply
from zoom.client.decisions import Decision


class Updating:
    """Works on requests to update."""

    def __init__(self, *, calls: RoomCalls, keeping: Keeping) -> None:
        """All parts are made elsewhere."""
        self._calls = calls
        self._keeping = keeping

    async def work(self, job: Job) -> Result:
        """Send the meeting's present details, whichever change asked for the update.

        Raises:
            LeaseLost: the claim does not hold any more.
        """
        room = job.meeting.room
        if not job.wanted or room is None:
            return Concluded(outcome="dropped")
        reply = await self._calls.update(job, zoom_id=room.zoom_id, key=room.provider_key)
        zoom_id = ZoomId(room.zoom_id)
        match reply.ruling.decision:
            case Decision.DONE:
                return await self._read_back(job, room, doubtful=reply.overtaken)
            case Decision.GONE:
                missing = self._calls.missing(reply, account_id=job.request.account_id, zoom_id=zoom_id)
                return Concluded(outcome="gone", zoom_id=zoom_id, seen=() if missing is None else (missing,))
            case Decision.REFUSE:
                return _refused(reply, zoom_id)
            case _:
                return self._keeping.after_write(job, reply)

    async def _read_back(self, job: Job, room: MeetingRoom, *, doubtful: bool) -> Concluded:
        """Zoom drops and alters some details without a word, so what it shows is what counts."""
        zoom_id = ZoomId(room.zoom_id)
        done = Concluded(outcome="done", zoom_id=zoom_id, version=job.meeting.version, doubtful=doubtful)
        reply = await self._calls.read(job.request.account_id, room.zoom_id, permit=job.lease.to_read)
        if reply.ruling.decision is not Decision.DONE:
            return replace(done, doubtful=True)
        seen = self._calls.seen(reply, meeting=job.meeting, host=room.host, key=room.provider_key)
        return replace(done, room=seen.room, differences=seen.differences, seen=(seen.event,))


def _refused(reply: Reply, zoom_id: ZoomId) -> Concluded:
    return Concluded(outcome="failed", zoom_id=zoom_id, error_code=reply.code, error_message=reply.message)
