"""Registering people for a room, and deciding about them.

Zoom answers a second add of the same e-mail with the first one's registrant, yet counts it: so a person whose add may
have worked is looked for before it is sent again. Decisions are ten a day for a meeting, so that those which are due
together go together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        """Register the person.

        Raises:
            LeaseLost: the claim does not hold any more.
        """
        person, room = job.registrant, job.meeting.room
        without = _without_work(job)
        if without is not None or person is None or room is None:
            return without or Concluded(outcome="dropped")
        return await self._register(job, person, ZoomId(room.zoom_id))

    async def decide(self, jobs: Sequence[Job]) -> list[Result]:
        """Carry out one decision about people of one meeting, at most thirty, in one call; a result for each.

        Raises:
            LeaseLost: the claim of one does not hold any more.
        """
        results: dict[int, Result] = {}
        known: dict[str, Job] = {}
        for job in jobs:
            without = _without_work(job)
            found = await self._known(job) if without is None else without
            if isinstance(found, str):
                known[found] = job
            else:
                results[job.request.epoch] = found
        if known:
            results |= await self._set(known)
        return [results[job.request.epoch] for job in jobs]

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

    async def _known(self, job: Job) -> str | Result:
        """The id under which Zoom knows the person, or what it means that it is not to be had."""
        person, room = job.registrant, job.meeting.room
        if person is None or room is None:
            return Concluded(outcome="dropped")
        if person.registrant_id is not None and person.zoom_id == room.zoom_id:
            return person.registrant_id
        found, reply = await self._calls.find_registrant(job, room.zoom_id, person.email)
        if found is not None:
            return found.registrant_id
        if reply is not None:
            return self._keeping.after_look(job, reply)
        return Concluded(outcome="gone", zoom_id=ZoomId(room.zoom_id))

    async def _set(self, known: Mapping[str, Job]) -> dict[int, Result]:
        first = next(iter(known.values()))
        zoom_id = ZoomId(first.meeting.room.zoom_id if first.meeting.room else "")
        reply = await self._calls.set_registrants(known, zoom_id, action=ACTIONS[first.request.action])
        results: dict[int, Result] = {}
        for registrant_id, job in known.items():
            match reply.ruling.decision:
                case Decision.DONE:
                    registered = Registered(registrant_id=registrant_id, status=None)
                    results[job.request.epoch] = await self._decided(job, zoom_id, registered)
                case Decision.GONE:
                    results[job.request.epoch] = Concluded(outcome="gone", zoom_id=zoom_id)
                case Decision.REFUSE:
                    results[job.request.epoch] = _failed(reply, zoom_id)
                case _:
                    results[job.request.epoch] = self._keeping.after_write(job, reply)
        return results

    async def _decided(self, job: Job, zoom_id: ZoomId, registered: Registered) -> Result:
        """An approved person gets a link, which only the list of registrants shows."""
        person = job.registrant
        if person is not None and job.request.action == "approve" and person.join_url is None:
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


def _without_work(job: Job) -> Concluded | None:
    """What is to be said where nothing can be done; None where something can."""
    person, room = job.registrant, job.meeting.room
    if person is None or not any(work.provider_key == job.request.provider_key for work in person.pending):
        return Concluded(outcome="dropped")
    if room is not None and room.gone_at is None and job.meeting.status != "cancelled":
        return None
    if job.request.action == "unregister":
        return Concluded(outcome="gone")  # whoever was registered went with the room
    return Concluded(outcome="failed", error_code="no_room", error_message="The meeting has no room to register for.")


def _failed(reply: Reply, zoom_id: ZoomId) -> Concluded:
    return Concluded(outcome="failed", zoom_id=zoom_id, error_code=reply.code, error_message=reply.message)
