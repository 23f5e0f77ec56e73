"""The fold of `meeting-commands` into the meetings table.

Two kinds of entries lie in one table: `account|meeting_id` is a `MeetingState`, `account|meeting_id|command_id` the
`CommandAnswer` of one command. Every command is answered by exactly one event. A command that comes again, in whatever
order, is answered by the same event (same id) with the meeting as it is by then, and changes nothing; the same id with
other content is a conflict. Since keys begin with the account, no command reaches another account's meeting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from runtime.topics import MEETING_COMMANDS, MEETING_EVENTS
from schemas.codec import decode, encode
from schemas.errors import BadMessage, Broken
from schemas.ids import CommandId, output_id_for
from schemas.records.meeting_commands import CancelMeeting, ChangeMeeting, CreateMeeting, RecordRoomOutcome, RetryRoom
from schemas.records.meeting_events import CommandAnswer, MeetingEvent, MeetingState
from streams.fold import Folded, Input, Output
from streams.meetings.decide import Command, decide
from streams.meetings.draft import Decided, Rejection
from streams.meetings.evolve import evolve_all
from streams.meetings.outcomes import releases

Entry = MeetingState | CommandAnswer
COMMANDS: tuple[type[Command], ...] = (CreateMeeting, ChangeMeeting, CancelMeeting, RetryRoom, RecordRoomOutcome)
ENTRIES: tuple[type[Entry], ...] = (MeetingState, CommandAnswer)
CONFLICT = Rejection(code="idempotency_conflict", message="The same idempotency key came before with other content.")


def meeting_key(account_id: str, meeting_id: str) -> str:
    """Key of a meeting in the table."""
    return f"{account_id}|{meeting_id}"


def answer_key(account_id: str, meeting_id: str, command_id: str) -> str:
    """Key of a command's answer in the table."""
    return f"{account_id}|{meeting_id}|{command_id}"


class MeetingsFold:
    """Decides commands; implements `streams.fold.Fold`."""

    source = MEETING_COMMANDS
    table = "meetings"

    def fold(self, record: Input, read: Callable[[str], Entry | None], *, generation: int) -> Folded[Entry]:
        """The answer to this command, and the meeting after it.

        Raises:
            BadMessage: it is no command, lies under another meeting's key, or breaks its contract.
        """
        command = decode(record.value, *COMMANDS)
        if record.key != command.meeting_id:
            raise BadMessage("a command lies under another key than its meeting's id")
        state = _meeting(read(meeting_key(command.account_id, command.meeting_id)))
        answer = _answer(read(answer_key(command.account_id, command.meeting_id, command.command_id)))
        if answer is not None:
            return _repeated(command, state, answer, _Revision(generation, record.offset))
        return _decided(command, state, _Revision(generation, record.offset))

    def encode(self, entry: Entry) -> bytes:
        """The entry in single-object encoding; equal entries give equal bytes."""
        return encode(entry)

    def decode(self, value: bytes) -> Entry:
        """The entry that `encode` wrote."""
        return decode(value, *ENTRIES)


class _Revision(NamedTuple):
    generation: int
    offset: int


def _decided(command: Command, state: MeetingState | None, revision: _Revision) -> Folded[Entry]:
    decision = decide(state, command)
    after = evolve_all(state, decision.facts) if isinstance(decision, Decided) else state
    answer = _answer_to(command, decision, version=after.version if after else 0)
    entries: dict[str, Entry] = {answer_key(command.account_id, command.meeting_id, command.command_id): answer}
    if after is not None and after != state:
        entries[meeting_key(command.account_id, command.meeting_id)] = after
    return Folded(
        outcome="applied" if isinstance(decision, Decided) else "rejected",
        entries=entries,
        outputs=(_event(command, after, answer, revision),),
    )


def _repeated(
    command: Command, state: MeetingState | None, answer: CommandAnswer, revision: _Revision
) -> Folded[Entry]:
    if answer.request_hash == _request_hash(command) and answer.command == type(command).__name__:
        return Folded(outcome="repeated", outputs=(_event(command, state, answer, revision),))
    refused = _answer_to(command, CONFLICT, version=answer.version)
    return Folded(outcome="rejected", outputs=(_event(command, state, refused, revision),))


def _answer_to(command: Command, decision: Decided | Rejection, *, version: int) -> CommandAnswer:
    rejection = decision if isinstance(decision, Rejection) else None
    return CommandAnswer(
        command_id=command.command_id,
        account_id=command.account_id,
        meeting_id=command.meeting_id,
        command=type(command).__name__,
        request_hash=_request_hash(command),
        status="rejected" if rejection else "accepted",
        code=rejection.code if rejection else None,
        message=rejection.message if rejection else None,
        version=version,
        decided_at=command.issued_at,
        event_kind=decision.kind if isinstance(decision, Decided) else "rejected",
    )


def _event(command: Command, state: MeetingState | None, answer: CommandAnswer, revision: _Revision) -> Output:
    about = answer.event_kind
    if answer.code == CONFLICT.code:
        about = f"{CONFLICT.code}:{answer.request_hash.hex()}"
    report = command if isinstance(command, RecordRoomOutcome) else None
    event = MeetingEvent(
        event_id=output_id_for(CommandId(command.command_id), about),
        cause_id=command.command_id,
        account_id=command.account_id,
        meeting_id=command.meeting_id,
        kind=answer.event_kind,
        happened_at=answer.decided_at,
        generation=revision.generation,
        revision=revision.offset,
        meeting=state,
        answer=answer,
        provider_key=report.provider_key if report else None,
        epoch=report.epoch if report else None,
        releases=report is not None and releases(report),
    )
    return Output(topic=MEETING_EVENTS, key=command.meeting_id, value=encode(event))


def _request_hash(command: Command) -> bytes:
    """Reports and retries have no content that a caller could mean otherwise under the same id."""
    return command.request_hash if isinstance(command, CreateMeeting | ChangeMeeting | CancelMeeting) else b""


def _meeting(entry: Entry | None) -> MeetingState | None:
    if isinstance(entry, CommandAnswer):
        raise Broken("a command's answer lies under a meeting's key")
    return entry


def _answer(entry: Entry | None) -> CommandAnswer | None:
    if isinstance(entry, MeetingState):
        raise Broken("a meeting lies under a command's key")
    return entry
