"""The answer to a command, and the event that tells it."""

from __future__ import annotations

from typing import NamedTuple

from runtime.topics import MEETING_EVENTS
from schemas.codec import encode
from schemas.ids import CommandId, output_id_for
from schemas.records.meeting_commands import RecordRegistrantOutcome, RecordRoomOutcome, RetryRoom
from schemas.records.meeting_events import CommandAnswer, MeetingEvent, MeetingState, RegistrantState
from streams.fold import Output
from streams.meetings.decide import Command
from streams.meetings.draft import Rejection
from streams.meetings.evolve import PROVIDER_UNAVAILABLE
from streams.meetings.registrants import RegistrantCommand

CONFLICT = Rejection(code="idempotency_conflict", message="The same idempotency key came before with other content.")

AnyCommand = Command | RegistrantCommand
Report = RecordRoomOutcome | RecordRegistrantOutcome


class Revision(NamedTuple):
    """Where a command lies."""

    generation: int
    offset: int


def answer_to(command: AnyCommand, decided: str | Rejection, *, version: int) -> CommandAnswer:
    """The answer of a decision, named by the kind of its event, or of a rejection."""
    rejection = decided if isinstance(decided, Rejection) else None
    return CommandAnswer(
        command_id=command.command_id,
        account_id=command.account_id,
        meeting_id=command.meeting_id,
        command=type(command).__name__,
        request_hash=request_hash_of(command),
        status="rejected" if rejection else "accepted",
        code=rejection.code if rejection else None,
        message=rejection.message if rejection else None,
        version=version,
        decided_at=command.issued_at,
        event_kind=decided if isinstance(decided, str) else "rejected",
    )


def event_of(
    command: AnyCommand,
    answer: CommandAnswer,
    revision: Revision,
    *,
    meeting: MeetingState | None = None,
    registrant: RegistrantState | None = None,
) -> Output:
    """The event that tells an answer, with the entries as they are after it."""
    about = answer.event_kind
    if answer.code == CONFLICT.code:
        about = f"{CONFLICT.code}:{answer.request_hash.hex()}"
    report = command if isinstance(command, RecordRoomOutcome | RecordRegistrantOutcome) else None
    event = MeetingEvent(
        event_id=output_id_for(CommandId(command.command_id), about),
        cause_id=command.command_id,
        account_id=command.account_id,
        meeting_id=command.meeting_id,
        kind=answer.event_kind,
        happened_at=answer.decided_at,
        generation=revision.generation,
        revision=revision.offset,
        meeting=meeting,
        answer=answer,
        provider_key=report.provider_key if report else None,
        epoch=report.epoch if report else None,
        registrant=registrant,
        releases=report is not None and releases(report),
    )
    return Output(topic=MEETING_EVENTS, key=command.meeting_id, value=encode(event))


def is_repeat(command: AnyCommand, answer: CommandAnswer) -> bool:
    """Whether the command is the very one that was answered."""
    return answer.request_hash == request_hash_of(command) and answer.command == type(command).__name__


def releases(report: Report) -> bool:
    """Whether the row of this call ends with it."""
    return report.kind == "outcome" and report.outcome != PROVIDER_UNAVAILABLE


def request_hash_of(command: AnyCommand) -> bytes:
    """Reports and retries have no content that a caller could mean otherwise under the same id."""
    if isinstance(command, RecordRoomOutcome | RecordRegistrantOutcome | RetryRoom):
        return b""
    return command.request_hash
