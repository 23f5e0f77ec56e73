"""Registering people for a room, and deciding about them.

Zoom answers a second add of the same e-mail with the first one's registrant, yet counts it: so a person whose add may
have worked is looked for before it is sent again. So is one about whom is decided before the id is known.
"""

from __future__ import annotations

from dataclasses import replace

from reconciler.rooms.keeping import Keeping
from reconciler.rooms.results import Concluded, Registered, Result
from reconciler.rooms.zoom import Job, RoomCalls
from schemas.ids import ZoomId
from schemas.records.meeting_events import RegistrantState
from zoom.client.client import Reply
from zoom.client.decisions import Decision

ACTIONS = {"approve": "approve", "deny": "deny", "unregister": "cancel"}
"""Our work, and what Zoom calls it."""


class Registering:
    """Works on requests about registrants."""

    def __init__(self, *, calls: RoomCalls, keeping: Keeping) -> None:
        """All parts are made elsewhere."""
        self._calls = calls
        self._keeping = keeping

    async def work(self, job: Job) -> Result:
        """Register the person, or carry out a decision.

        Raises:
            LeaseLost: the claim does not hold any more.
        """
        person, room = job.registrant, job.meeting.room
        if person is None or not any(work.provider_key == job.request.provider_key for work in person.pending):
            return Concluded(outcome="dropped")
        if room is None or room.gone_at is not None or job.meeting.status == "cancelled":
            return _without_room(job)
        zoom_id = ZoomId(room.zoom_id)
        if job.request.action == "register":
            return await self._register(job, person, zoom_id)
        return await self._decide(job, person, zoom_id)

    async def _register(self, job: Job, person: RegistrantState, zoom_id: ZoomId) -> Result:
        if job.request.may_have_acted:
            found, reply = await self._calls.find_registrant(job, zoom_id, person.email)
            if found is None and reply is not None:
                return self._keeping.after_look(job, reply)
            if found is not None:
                return Concluded(outcome="done", zoom_id=zoom_id, registered=found)
        reply = await self._calls.register(job, zoom_id, person)
        match reply.ruling.decision:
            case Decision.DONE:
                return Concluded(
                    outcome="done",
                    zoom_id=zoom_id,
                    registered=_registered(reply),
                    seen=(self._calls.registrant_event(reply, job=job, zoom_id=zoom_id),),
                )
            case Decision.REFUSE | Decision.GONE:
                return _failed(reply, zoom_id)
            case _:
                return self._keeping.after_write(job, reply)

    async def _decide(self, job: Job, person: RegistrantState, zoom_id: ZoomId) -> Result:
        known = person.registrant_id
        if known is None:
            found, reply = await self._calls.find_registrant(job, zoom_id, person.email)
            if found is None and reply is not None:
                return self._keeping.after_look(job, reply)
            if found is None:
                return Concluded(outcome="gone", zoom_id=zoom_id)
            known = found.registrant_id
        action = ACTIONS[job.request.action]
        reply = await self._calls.set_registrant(job, zoom_id, action=action, registrant_id=known, email=person.email)
        match reply.ruling.decision:
            case Decision.DONE:
                return await self._decided(job, person, zoom_id, Registered(registrant_id=known, status=None))
            case Decision.GONE:
                return Concluded(outcome="gone", zoom_id=zoom_id)
            case Decision.REFUSE:
                return _failed(reply, zoom_id)
            case _:
                return self._keeping.after_write(job, reply)

    async def _decided(self, job: Job, person: RegistrantState, zoom_id: ZoomId, registered: Registered) -> Result:
        """An approved person gets a link, which only the list of registrants shows."""
        if job.request.action == "approve" and person.join_url is None:
            found, _ = await self._calls.find_registrant(job, zoom_id, person.email)
            if found is not None:
                registered = replace(registered, join_url=found.join_url)
        return Concluded(outcome="done", zoom_id=zoom_id, registered=registered)


def _registered(reply: Reply) -> Registered:
    link = reply.document.get("join_url")
    return Registered(
        registrant_id=str(reply.document.get("registrant_id") or ""),
        join_url=link if isinstance(link, str) and link else None,
        status="approved" if link else "pending",
    )


def _without_room(job: Job) -> Concluded:
    if job.request.action == "unregister":
        return Concluded(outcome="gone")  # whoever was registered went with the room
    return Concluded(outcome="failed", error_code="no_room", error_message="The meeting has no room to register for.")


def _failed(reply: Reply, zoom_id: ZoomId) -> Concluded:
    return Concluded(outcome="failed", zoom_id=zoom_id, error_code=reply.code, error_message=reply.message)
