"""The room worker's calls to Zoom, each under its lease, and what they say about a room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from reconciler.rooms.lease import Lease
from reconciler.rooms.queue import Request
from reconciler.rooms.results import Registered
from runtime.clock import Clock
from schemas.ids import ProviderKey, ZoomId
from schemas.records.meeting_commands import MeetingDetails, RoomFound
from schemas.records.meeting_events import MeetingState, RegistrantState
from schemas.records.zoom_events import ZoomEvent
from zoom.client.client import Call, Permit, Reply, ZoomClient, always
from zoom.client.decisions import NO_CODE, Decision
from zoom.client.endpoints import CREATE, DELETE, GET, REGISTER, REGISTRANT_STATUS, REGISTRANTS, UPDATE
from zoom.client.lists import Listing, list_rooms
from zoom.client.rooms import differences, key_of, number_of, room_body, shown_by, text_of
from zoom.observations import Asked, observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A claimed request on its way through Zoom."""

    request: Request
    meeting: MeetingState
    lease: Lease
    registrant: RegistrantState | None = None

    @property
    def wanted(self) -> bool:
        """Whether the meeting still wanted this work when it was claimed."""
        return any(work.provider_key == self.request.provider_key for work in self.meeting.pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A room as one answer showed it."""

    room: RoomFound
    differences: tuple[str, ...]
    """From what the meeting wants."""
    event: ZoomEvent
    """The same for `zoom-events`."""
    running: bool


class RoomCalls:
    """Calls about rooms."""

    def __init__(self, client: ZoomClient, *, clock: Clock, tracking_fields: Mapping[str, str | None]) -> None:
        """`tracking_fields` names each account's field for the key, where it has one."""
        self._client = client
        self._clock = clock
        self._tracking_fields = tracking_fields

    async def create(self, job: Job) -> Reply:
        """Make the room, under the request's key."""
        body = self._body(job.request.account_id, job.meeting.details, key=job.request.provider_key)
        call = Call(endpoint=CREATE, account_id=job.request.account_id, host=job.request.host, body=body)
        return await self._client.call(call, permit=job.lease.to_write)

    async def update(self, job: Job, *, zoom_id: str, key: str) -> Reply:
        """Give the room the meeting's details; it keeps the key of the create that made it."""
        body = self._body(job.request.account_id, job.meeting.details, key=ProviderKey(key))
        return await self._client.call(_about(UPDATE, job, zoom_id, body=body), permit=job.lease.to_write)

    async def delete(self, job: Job, *, zoom_id: str) -> Reply:
        """Remove the room."""
        return await self._client.call(_about(DELETE, job, zoom_id), permit=job.lease.to_write)

    async def register(self, job: Job, zoom_id: str, person: RegistrantState) -> Reply:
        """Register a person."""
        body = {"email": person.email, "first_name": person.first_name, "last_name": person.last_name}
        call = replace(_about(REGISTER, job, zoom_id, body=body), registrant=person.registrant_key)
        return await self._client.call(call, permit=job.lease.to_write)

    async def set_registrants(self, jobs: Mapping[str, Job], zoom_id: str, *, action: str) -> Reply:
        """Approve, deny or cancel registered people, at most thirty, by their ids; under the leases of all of them."""
        first = next(iter(jobs.values()))
        people = [
            {"id": registrant_id, "email": job.registrant.email if job.registrant else ""}
            for registrant_id, job in jobs.items()
        ]

        async def permit() -> None:
            for job in jobs.values():
                await job.lease.to_write()

        body = {"action": action, "registrants": people}
        return await self._client.call(_about(REGISTRANT_STATUS, first, zoom_id, body=body), permit=permit)

    async def find_registrant(self, job: Job, zoom_id: str, email: str) -> tuple[Registered | None, Reply | None]:
        """The person with this e-mail, or None; beside None, the reply to a list that could not be read to its end."""
        for status in ("approved", "pending", "denied"):
            token: str | None = ""
            while token is not None:
                query = {"status": status, "page_size": "300", **({"next_page_token": token} if token else {})}
                call = replace(_about(REGISTRANTS, job, zoom_id), query=query)
                reply = await self._client.call(call, permit=job.lease.to_read)
                if reply.ruling.decision is Decision.GONE:
                    return None, None
                if reply.ruling.decision is not Decision.DONE:
                    return None, reply
                found = _person(reply, email=email, status=status)
                if found is not None:
                    return found, None
                token = str(reply.document.get("next_page_token") or "") or None
        return None, None

    def registrant_event(self, reply: Reply, *, job: Job, zoom_id: str) -> ZoomEvent:
        """The observation of a person who was just registered."""
        answer = {name: value for name, value in reply.document.items() if name != "id"}
        shown = answer | {"id": answer.get("registrant_id"), "email": job.registrant.email if job.registrant else ""}
        return self._event(reply, account_id=job.request.account_id, zoom_id=zoom_id, kind="registrant", shown=shown)

    async def read(self, account_id: str, zoom_id: str, *, permit: Permit = always) -> Reply:
        """Look at one room."""
        return await self._client.call(Call(endpoint=GET, account_id=account_id, meeting=zoom_id), permit=permit)

    async def listing(self, account_id: str, host: str, *, permit: Permit = always) -> Listing:
        """Look at all rooms of a host."""
        return await list_rooms(self._client, account_id=account_id, host=host, permit=permit)

    def key_of(self, account_id: str, room: Mapping[str, Any]) -> ProviderKey | None:
        """The key that a room carries."""
        return key_of(room, tracking_field=self._tracking_fields.get(account_id))

    def seen(self, reply: Reply, *, meeting: MeetingState, host: str, key: str | None = None) -> Seen:
        """The room in the answer to a create or a read; `key` is the one that the meeting knows it by."""
        if reply.answer is None or reply.ruling.decision is not Decision.DONE:
            raise AssertionError("only a success shows a room")
        document, answer, shown = reply.document, reply.answer, shown_by(reply.document)
        carried = self.key_of(meeting.account_id, document)
        sent = self._body(meeting.account_id, meeting.details, key=ProviderKey(key or carried or ""))
        room = RoomFound(
            zoom_id=number_of(document),
            uuid=str(document.get("uuid") or ""),
            host_id=str(document.get("host_id") or ""),
            host=host,
            join_url=str(document.get("join_url") or ""),
            provider_key=carried,
            shown=text_of(shown),
            shown_at=answer.sent_at,
        )
        return Seen(
            room=room,
            differences=differences(sent, shown, details=meeting.details, now=self._clock.now()),
            event=self._event(reply, account_id=meeting.account_id, zoom_id=room.zoom_id),
            running=document.get("status") == "started",
        )

    def missing(self, reply: Reply, *, account_id: str, zoom_id: str) -> ZoomEvent | None:
        """The observation that a room was not there, None where there was no answer."""
        return self._event(reply, account_id=account_id, zoom_id=zoom_id) if reply.answer is not None else None

    def _event(
        self,
        reply: Reply,
        *,
        account_id: str,
        zoom_id: str,
        kind: Literal["meeting", "registrant"] = "meeting",
        shown: Mapping[str, Any] | None = None,
    ) -> ZoomEvent:
        if reply.answer is None:
            raise AssertionError("nothing was observed")
        answer = reply.answer
        asked = Asked(
            sent_at=answer.sent_at,
            elapsed_seconds=answer.elapsed_seconds,
            status=answer.status,
            date=answer.date,
            code=None if answer.code == NO_CODE else answer.code,
        )
        uuid = reply.document.get("uuid")
        return observation(
            kind,
            account_id=account_id,
            zoom_id=zoom_id,
            uuid=uuid if isinstance(uuid, str) else None,
            asked=asked,
            answer=reply.document if shown is None else shown,
            received_at=self._clock.now(),
            source="worker",
        )

    def _body(self, account_id: str, details: MeetingDetails, *, key: ProviderKey) -> dict[str, Any]:
        return room_body(details, key=key, tracking_field=self._tracking_fields.get(account_id))


def listed_room(item: Mapping[str, Any], *, host: str, key: ProviderKey | None, reply: Reply) -> RoomFound | None:
    """A room as a list shows it, which is little; None for an item that has no number."""
    zoom_id: ZoomId = number_of(item)
    if not zoom_id or reply.answer is None:
        return None
    return RoomFound(
        zoom_id=zoom_id,
        uuid=str(item.get("uuid") or ""),
        host_id=str(item.get("host_id") or ""),
        host=host,
        join_url=str(item.get("join_url") or ""),
        provider_key=key,
        shown="",
        shown_at=reply.answer.sent_at,
    )


def _person(reply: Reply, *, email: str, status: str) -> Registered | None:
    """The person with this e-mail on one page of registrants."""
    for each in reply.document["registrants"]:
        if isinstance(each, dict) and str(each.get("email", "")).casefold() == email.casefold():
            link = each.get("join_url")
            return Registered(
                registrant_id=str(each.get("id") or ""),
                status=status,
                join_url=link if isinstance(link, str) and link else None,
            )
    return None


def _about(endpoint: Any, job: Job, zoom_id: str, *, body: Mapping[str, Any] | None = None) -> Call:
    return Call(endpoint=endpoint, account_id=job.request.account_id, host=job.request.host, meeting=zoom_id, body=body)
