"""The projection of `meeting-events`: meetings, registrants, their pending room work, and what became of commands.

Guarantees: a meeting's row, its room requests and the answers to its commands change together. Work appears if and only
if the meeting wants it, and a row of work is deleted only when its last claim was answered, or when nobody has called
for it and it is no longer wanted. Everything can be made again from the changelog of the meetings table; such requests
count as retried, since calls for them may be under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from psycopg import Cursor

from projectors.projection import Consumed, Decoded
from runtime.queries import queries
from runtime.topics import MEETING_EVENTS, MEETINGS_CHANGELOG
from schemas.codec import decode, encode
from schemas.records.meeting_events import CommandAnswer, MeetingEvent, MeetingState, RegistrantState, RoomWork
from schemas.records.tables import Revised
from schemas.recurrence import ends_at

_ENTRIES: tuple[type[MeetingState | CommandAnswer | RegistrantState], ...] = (
    MeetingState,
    CommandAnswer,
    RegistrantState,
)
_REPORTS = frozenset({"RecordRoomOutcome", "RecordRegistrantOutcome"})
_CONFLICT = "idempotency_conflict"

V = TypeVar("V")
Key = tuple[str, str]
"""Account and meeting, or account and command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version(Generic[V]):
    """A value at its revision: (generation, offset)."""

    revision: tuple[int, int]
    value: V


class MeetingsProjection:
    """Writes meetings, commands and the room worker's queue; implements `Rebuildable`."""

    name = "meetings"
    topic = MEETING_EVENTS
    changelog = MEETINGS_CHANGELOG

    def decode(self, consumed: Consumed) -> MeetingEvent:
        """The event in these bytes.

        Raises:
            BadMessage: it cannot be read.
        """
        return decode(consumed.value, MeetingEvent)

    def apply(self, cursor: Cursor[Any], batch: Sequence[Decoded[MeetingEvent]]) -> None:
        """Write what these events say."""
        events = [each.record for each in batch]
        _answer(cursor, _newest((_key_of_answer(answer), version) for answer, version in _answers(events)))
        _refuse(cursor, [event.answer for event in events if event.answer and event.answer.code == _CONFLICT])
        _release(cursor, events)
        meetings = _newest(
            ((event.account_id, event.meeting_id), _version(event, event.meeting)) for event in events if event.meeting
        )
        if meetings:
            _write_meetings(cursor, meetings, retried=False)
        people = _newest(
            (_key_of_registrant(event.registrant), _version(event, event.registrant))
            for event in events
            if event.registrant
        )
        if people:
            _write_registrants(cursor, people, retried=False)
            # A refusal changes nothing about the person, and is no reason to ask again.
            accepted = (each for each in events if each.answer is None or each.answer.status == "accepted")
            _note_left_behind(cursor, [each.registrant for each in accepted if each.registrant])
        named = {event.meeting_id for event in events}
        cursor.execute(queries("projectors")["notify_meetings"], {"meeting_id": sorted(named)})

    def restore(self, cursor: Cursor[Any], batch: Sequence[Decoded[Revised]]) -> None:
        """Write the rows of these entries under their own revisions.

        Raises:
            BadMessage: an entry cannot be read.
        """
        cursor.execute(queries("projectors")["renew_epochs"])
        meetings: list[tuple[Key, _Version[MeetingState]]] = []
        answers: list[tuple[Key, _Version[CommandAnswer]]] = []
        people: list[tuple[Key, _Version[RegistrantState]]] = []
        for each in batch:
            entry = decode(each.record.entry, *_ENTRIES)
            revision = (each.record.generation, each.record.revision)
            if isinstance(entry, MeetingState):
                meetings.append(((entry.account_id, entry.meeting_id), _Version(revision=revision, value=entry)))
            elif isinstance(entry, RegistrantState):
                people.append((_key_of_registrant(entry), _Version(revision=revision, value=entry)))
            elif _is_callers(entry):
                answers.append((_key_of_answer(entry), _Version(revision=revision, value=entry)))
        _answer(cursor, _newest(answers))
        if meetings:
            written = _write_meetings(cursor, _newest(meetings), retried=True)
            cursor.execute(queries("projectors")["doubt_meetings"], _columns(written, ("account_id", "meeting_id")))
        if people:
            _write_registrants(cursor, _newest(people), retried=True)
            _note_left_behind(cursor, [version.value for _, version in people])


def _write_meetings(
    cursor: Cursor[Any], meetings: Mapping[Key, _Version[MeetingState]], *, retried: bool
) -> Sequence[Mapping[str, str]]:
    """Write meetings and their work; gives account and meeting of those that were not newer already."""
    rows = [_meeting_row(meetings[key]) for key in sorted(meetings)]
    cursor.execute(queries("projectors")["upsert_meetings"], _columns(rows, tuple(rows[0])))
    written = [{name: str(value) for name, value in row.items()} for row in cursor.fetchall()]
    work = [row for each in written for row in _room_work(meetings[each["account_id"], each["meeting_id"]].value)]
    if work:
        cursor.execute(queries("projectors")["note_hosts"], _columns(work, ("account_id", "host")))
    _write_work(cursor, [{**each, "lane": ""} for each in written], work, retried=retried)
    cursor.execute(queries("projectors")["note_moved"], _columns(written, ("account_id", "meeting_id")))
    return written


def _write_registrants(cursor: Cursor[Any], people: Mapping[Key, _Version[RegistrantState]], *, retried: bool) -> None:
    """Write registrants and their work."""
    rows = [_registrant_row(people[key]) for key in sorted(people)]
    cursor.execute(queries("projectors")["upsert_registrants"], _columns(rows, tuple(rows[0])))
    written = [{name: str(value) for name, value in row.items()} for row in cursor.fetchall()]
    owners = [{**each, "lane": each["registrant_key"]} for each in written]
    work = [
        row for each in written for row in _registrant_work(people[each["account_id"], each["registrant_key"]].value)
    ]
    _write_work(cursor, owners, work, retried=retried)


def _note_left_behind(cursor: Cursor[Any], people: Sequence[RegistrantState]) -> None:
    """Mark those of them who are registered for another room than their meeting has now."""
    names = ("account_id", "meeting_id", "registrant_key")
    columns = {name: [getattr(person, name) for person in people] for name in names}
    cursor.execute(queries("projectors")["note_left_behind"], columns)


def _write_work(
    cursor: Cursor[Any], owners: Sequence[Mapping[str, str]], work: Sequence[Mapping[str, Any]], *, retried: bool
) -> None:
    """Rows for the pending work of these owners, in place of those that are no longer wanted."""
    pending = _columns(work, _WORK)
    discarded = {"pending_account": pending["account_id"], "pending_key": pending["provider_key"]}
    named = _columns(owners, ("account_id", "meeting_id", "lane"))
    cursor.execute(queries("projectors")["discard_requests"], named | discarded)
    if work:
        cursor.execute(queries("projectors")["upsert_requests"], pending | {"retried": retried})
        cursor.execute(queries("projectors")["notify_requests"])


def _release(cursor: Cursor[Any], events: Iterable[MeetingEvent]) -> None:
    """An answered claim ends its row. An epoch belongs to one claim, so an old event can end no newer one."""
    released = [
        {"account_id": event.account_id, "provider_key": event.provider_key, "epoch": event.epoch}
        for event in events
        if event.releases
    ]
    if released:
        columns = _columns(released, ("account_id", "provider_key", "epoch"))
        cursor.execute(queries("projectors")["release_requests"], columns)


def _answer(cursor: Cursor[Any], answers: Mapping[Key, _Version[CommandAnswer]]) -> None:
    rows = [_answer_row(answers[key]) for key in sorted(answers)]
    if rows:
        cursor.execute(queries("projectors")["answer_commands"], _columns(rows, tuple(rows[0])))


def _refuse(cursor: Cursor[Any], conflicts: Sequence[CommandAnswer]) -> None:
    """Tell whoever recorded another command under the same id that theirs is refused; the first one's answer stays."""
    if conflicts:
        rows = [
            {
                name: getattr(each, name)
                for name in ("command_id", "account_id", "request_hash", "message", "decided_at")
            }
            for each in conflicts
        ]
        cursor.execute(queries("projectors")["refuse_conflicts"], {"code": _CONFLICT, **_columns(rows, tuple(rows[0]))})


def _answers(events: Iterable[MeetingEvent]) -> Iterable[tuple[CommandAnswer, _Version[CommandAnswer]]]:
    for event in events:
        if event.answer is not None and _is_callers(event.answer):
            yield event.answer, _version(event, event.answer)


def _is_callers(answer: CommandAnswer) -> bool:
    """Whether it is a caller's own. A conflict is told to whoever caused it, and leaves the first answer as it is."""
    return answer.command not in _REPORTS and answer.code != _CONFLICT


def _key_of_registrant(registrant: RegistrantState) -> Key:
    return registrant.account_id, registrant.registrant_key


def _key_of_answer(answer: CommandAnswer) -> Key:
    return answer.account_id, answer.command_id


def _version(event: MeetingEvent, value: V) -> _Version[V]:
    return _Version(revision=(event.generation, event.revision), value=value)


def _newest(versions: Iterable[tuple[Key, _Version[V]]]) -> dict[Key, _Version[V]]:
    """The greatest revision of each key; of equal ones the last."""
    newest: dict[Key, _Version[V]] = {}
    for key, version in versions:
        if key not in newest or newest[key].revision <= version.revision:
            newest[key] = version
    return newest


_WORK = ("account_id", "meeting_id", "provider_key", "action", "lane", "n", "host", "zoom_id", "added_at")


def _room_work(meeting: MeetingState) -> Iterable[Mapping[str, Any]]:
    """Work on the meeting's room is one lane; each second room has a lane of its own."""
    for work in meeting.pending:
        yield _work_row(meeting, work, lane=work.zoom_id or "" if work.action == "remove" else "")


def _registrant_work(registrant: RegistrantState) -> Iterable[Mapping[str, Any]]:
    for work in registrant.pending:
        yield _work_row(registrant, work, lane=registrant.registrant_key)


def _work_row(owner: MeetingState | RegistrantState, work: RoomWork, *, lane: str) -> Mapping[str, Any]:
    return {
        "account_id": owner.account_id,
        "meeting_id": owner.meeting_id,
        "provider_key": work.provider_key,
        "action": work.action,
        "lane": lane,
        "n": work.n,
        "host": work.host,
        "zoom_id": work.zoom_id,
        "added_at": work.added_at,
    }


def _meeting_row(version: _Version[MeetingState]) -> Mapping[str, Any]:
    meeting = version.value
    return {
        "account_id": meeting.account_id,
        "meeting_id": meeting.meeting_id,
        "version": meeting.version,
        "status": meeting.status,
        "host": meeting.details.host,
        "topic": meeting.details.topic,
        "start_at": meeting.details.start_at,
        "duration_minutes": meeting.details.duration_minutes,
        "ends_at": ends_at(meeting.details),
        "room_status": meeting.room_status,
        "zoom_id": meeting.room.zoom_id if meeting.room else None,
        "problem_code": meeting.problem.code if meeting.problem else None,
        "state": encode(meeting),
        "created_at": meeting.created_at,
        "changed_at": meeting.changed_at,
        "generation": version.revision[0],
        "revision": version.revision[1],
    }


def _registrant_row(version: _Version[RegistrantState]) -> Mapping[str, Any]:
    registrant = version.value
    return {
        "account_id": registrant.account_id,
        "meeting_id": registrant.meeting_id,
        "registrant_key": registrant.registrant_key,
        "email": registrant.email,
        "status": registrant.status,
        "zoom_id": registrant.zoom_id,
        "registrant_id": registrant.registrant_id,
        "problem_code": registrant.problem.code if registrant.problem else None,
        "state": encode(registrant),
        "created_at": registrant.created_at,
        "generation": version.revision[0],
        "revision": version.revision[1],
    }


def _answer_row(version: _Version[CommandAnswer]) -> Mapping[str, Any]:
    answer = version.value
    return {
        "command_id": answer.command_id,
        "account_id": answer.account_id,
        "meeting_id": answer.meeting_id,
        "command": answer.command,
        "request_hash": answer.request_hash,
        "status": answer.status,
        "code": answer.code,
        "message": answer.message,
        "version": answer.version,
        "decided_at": answer.decided_at,
        "generation": version.revision[0],
        "revision": version.revision[1],
    }


def _columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in names}
