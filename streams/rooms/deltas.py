"""From a fact to its deltas: which module knows which event. Reads no state, ever.

What nobody knows is kept with its body as an entry of kind `fact`, and so is an event of a known kind that names
nothing to hold it: never dropped, never a dead letter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.rooms import existence, observations, participants, recordings, registrations, runs
from streams.rooms.delta import Delta, heard
from streams.rooms.fact import Fact, identifier
from streams.rooms.lattice import EXPIRED

EXPIRY = "roomkeeper.expired"
"""The retention time of entries is over; the object's `entries` lists `[kind, [part, ...]]`."""

Handler = Callable[[Fact], list[Delta]]


def deltas_of(fact: Fact) -> list[Delta]:
    """The pieces of state that a fact is: the first is of what it is mainly about.

    Raises:
        BadMessage: a time is ahead of its receipt, or an identifier is too long.
    """
    if not fact.has_number:
        return [_kept(fact)]
    return _of_room(fact)


def _of_room(fact: Fact) -> list[Delta]:
    handler = _OF_ROOM.get(fact.name)
    if handler is not None:
        return handler(fact)
    handler = _OF_RUN.get(fact.name)
    if handler is not None and fact.uuid:
        return handler(fact)
    handler = _OF_REGISTRANT.get(fact.name)
    if handler is not None and registrations.registrant_id_of(fact):
        return handler(fact)
    handler = observations.HANDLERS.get(fact.name)
    if handler is not None and observations.is_complete(fact):
        return handler(fact)
    return [_kept(fact)]


def _kept(fact: Fact) -> Delta:
    """The fact itself, whole."""
    known = {"name": (fact.clock, fact.name), "body": (fact.clock, fact.body)}
    return Delta(fact, "fact", (fact.event_id,), known, maxima=heard(fact, proves=False))


def _expired(fact: Fact) -> list[Delta]:
    listed = fact.subject.get("entries")
    top = {EXPIRED: fact.time or 0}
    entries = [each for each in listed if isinstance(each, list) and len(each) == 2] if isinstance(listed, list) else []
    return [
        Delta(fact, kind, tuple(identifier(part, "entries") for part in parts), maxima=top)
        for kind, parts in entries
        if isinstance(kind, str) and isinstance(parts, list)
    ]


_OF_ROOM: Mapping[str, Handler] = {
    "meeting.created": existence.created,
    "meeting.updated": existence.updated,
    "meeting.deleted": existence.deleted,
    "meeting.recovered": existence.recovered,
    "meeting.permanently_deleted": existence.permanently_deleted,
    "meeting.converted_to_webinar": existence.converted,
    EXPIRY: _expired,
}
_OF_RUN: Mapping[str, Handler] = {
    "meeting.started": runs.started,
    "meeting.ended": runs.ended,
    "meeting.alert": runs.alert,
    "recording.started": recordings.recording,
    "recording.paused": recordings.recording,
    "recording.resumed": recordings.recording,
    "recording.stopped": recordings.recording,
    "recording.completed": recordings.recording_completed,
    **participants.HANDLERS,
}
_OF_REGISTRANT: Mapping[str, Handler] = {
    "meeting.registration_created": registrations.registration_created,
    "meeting.registration_approved": registrations.registration_approved,
    "meeting.registration_denied": registrations.registration_denied,
    "meeting.registration_cancelled": registrations.registration_cancelled,
}
