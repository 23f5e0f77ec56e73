"""The fold of `meeting-commands` into the meetings table.

Three kinds of entries lie in one table: `account|meeting_id` is a `MeetingState`, below it `|command_id` the
`CommandAnswer` of one command and `|registrant|registrant_key` the `RegistrantState` of one person. Every command is
answered by exactly one event. A command that comes again, in whatever order, is answered by the same event (same id)
with the entries as they are by then, and changes nothing; the same id with other content is a conflict. Since keys
begin with the account, no command reaches another account's meeting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from runtime.topics import MEETING_COMMANDS
from schemas.codec import decode, encode
from schemas.errors import BadMessage, Broken
from schemas.ids import AccountId, MeetingId, registrant_key_for
from schemas.records.meeting_commands import (
    AddRegistrant,
    CancelMeeting,
    ChangeMeeting,
    CreateMeeting,
    RecordRegistrantOutcome,
    RecordRoomOutcome,
    RetryRoom,
    SetRegistrant,
)
from schemas.records.meeting_events import CommandAnswer, MeetingState, RegistrantState
from streams.fold import Folded, Input, Output
from streams.meetings.answering import CONFLICT, AnyCommand, Revision, answer_to, event_of, is_repeat
from streams.meetings.decide import Command, decide
from streams.meetings.draft import Rejection
from streams.meetings.evolve import evolve_all
from streams.meetings.registrants import RegistrantCommand, decide_registrant

Entry = MeetingState | CommandAnswer | RegistrantState
Read = Callable[[str], Entry | None]
COMMANDS: tuple[type[AnyCommand], ...] = (
    CreateMeeting,
    ChangeMeeting,
    CancelMeeting,
    RetryRoom,
    RecordRoomOutcome,
    AddRegistrant,
    SetRegistrant,
    RecordRegistrantOutcome,
)
ENTRIES: tuple[type[Entry], ...] = (MeetingState, CommandAnswer, RegistrantState)

E = TypeVar("E", MeetingState, CommandAnswer, RegistrantState)


def meeting_key(account_id: str, meeting_id: str) -> str:
    """Key of a meeting in the table."""
    return f"{account_id}|{meeting_id}"


def answer_key(account_id: str, meeting_id: str, command_id: str) -> str:
    """Key of a command's answer in the table."""
    return f"{account_id}|{meeting_id}|{command_id}"


def registrant_entry_key(account_id: str, meeting_id: str, registrant_key: str) -> str:
    """Key of a registrant in the table."""
    return f"{account_id}|{meeting_id}|registrant|{registrant_key}"


class MeetingsFold:
    """Decides commands; implements `streams.fold.Fold`."""

    source = MEETING_COMMANDS
    table = "meetings"

    def fold(self, record: Input, read: Read, *, generation: int) -> Folded[Entry]:
        """The answer to this command, and the entries after it.

        Raises:
            BadMessage: it is no command, lies under another meeting's key, or breaks its contract.
        """
        command = decode(record.value, *COMMANDS)
        if record.key != command.meeting_id:
            raise BadMessage("a command lies under another key than its meeting's id")
        revision = Revision(generation, record.offset)
        if isinstance(command, AddRegistrant | SetRegistrant | RecordRegistrantOutcome):
            return _fold_registrant(command, read, revision)
        return _fold_meeting(command, read, revision)

    def encode(self, entry: Entry) -> bytes:
        """The entry in single-object encoding; equal entries give equal bytes."""
        return encode(entry)

    def decode(self, value: bytes) -> Entry:
        """The entry that `encode` wrote."""
        return decode(value, *ENTRIES)


def _fold_meeting(command: Command, read: Read, revision: Revision) -> Folded[Entry]:
    key = meeting_key(command.account_id, command.meeting_id)
    state = _entry(MeetingState, read, key)
    answered = _answered(command, read)
    if answered is not None:
        return _again(command, answered, revision, meeting=state)
    decision = decide(state, command)
    after = state if isinstance(decision, Rejection) else evolve_all(state, decision.facts)
    decided = decision if isinstance(decision, Rejection) else decision.kind
    answer = answer_to(command, decided, version=after.version if after else 0)
    changed: dict[str, Entry] = {key: after} if after is not None and after != state else {}
    return _first(command, answer, changed, event_of(command, answer, revision, meeting=after))


def _fold_registrant(command: RegistrantCommand, read: Read, revision: Revision) -> Folded[Entry]:
    person = registrant_key_for(AccountId(command.account_id), MeetingId(command.meeting_id), command.email)
    key = registrant_entry_key(command.account_id, command.meeting_id, person)
    state = _entry(RegistrantState, read, key)
    answered = _answered(command, read)
    if answered is not None:
        return _again(command, answered, revision, registrant=state)
    meeting = _entry(MeetingState, read, meeting_key(command.account_id, command.meeting_id))
    decision = decide_registrant(meeting, state, command)
    after = state if isinstance(decision, Rejection) else decision.state
    decided = decision if isinstance(decision, Rejection) else decision.kind
    answer = answer_to(command, decided, version=meeting.version if meeting else 0)
    changed: dict[str, Entry] = {key: after} if after is not None and after != state else {}
    return _first(command, answer, changed, event_of(command, answer, revision, registrant=after))


def _first(command: AnyCommand, answer: CommandAnswer, changed: dict[str, Entry], event: Output) -> Folded[Entry]:
    """A command that was decided now."""
    outcome = "rejected" if answer.status == "rejected" else "applied"
    return Folded(outcome=outcome, entries={_answer_key(command): answer, **changed}, outputs=(event,))


def _again(
    command: AnyCommand,
    answered: CommandAnswer,
    revision: Revision,
    *,
    meeting: MeetingState | None = None,
    registrant: RegistrantState | None = None,
) -> Folded[Entry]:
    """A command whose id was answered before: the same answer, or a conflict when it is another command."""
    repeat = is_repeat(command, answered)
    answer = answered if repeat else answer_to(command, CONFLICT, version=answered.version)
    event = event_of(command, answer, revision, meeting=meeting, registrant=registrant)
    return Folded(outcome="repeated" if repeat else "rejected", outputs=(event,))


def _answered(command: AnyCommand, read: Read) -> CommandAnswer | None:
    return _entry(CommandAnswer, read, _answer_key(command))


def _answer_key(command: AnyCommand) -> str:
    return answer_key(command.account_id, command.meeting_id, command.command_id)


def _entry(kind: type[E], read: Read, key: str) -> E | None:
    entry = read(key)
    if entry is not None and not isinstance(entry, kind):
        raise Broken(f"a {type(entry).__name__} lies where a {kind.__name__} belongs")
    return entry
