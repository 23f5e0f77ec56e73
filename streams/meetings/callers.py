"""What the commands of callers and operators lead to."""

from __future__ import annotations

from pydantic import ValidationError

from schemas.errors import BadMessage
from schemas.ids import AccountId, meeting_id_for
from schemas.records.meeting_commands import CancelMeeting, ChangeMeeting, CreateMeeting, MeetingDetails, RetryRoom
from schemas.records.meeting_events import MeetingState
from schemas.requests import apply_changes
from schemas.schedule import ScheduleError
from streams.meetings.draft import Decided, Draft, Rejection
from streams.meetings.facts import Cancelled, Created, DetailsChanged
from streams.meetings.planning import plan_again, plan_cancel, plan_create, plan_details

NOT_FOUND = Rejection(code="meeting_not_found", message="There is no such meeting.")
CANCELLED = Rejection(code="meeting_cancelled", message="The meeting is cancelled.")


def create(state: MeetingState | None, command: CreateMeeting) -> Decided | Rejection:
    """A new meeting with a room to come.

    Raises:
        BadMessage: the meeting's id does not follow from account and key, so it could be somebody else's.
    """
    if command.meeting_id != meeting_id_for(AccountId(command.account_id), command.idempotency_key):
        raise BadMessage("the meeting_id of a CreateMeeting does not follow from its account and idempotency key")
    if state is not None:
        return Rejection(code="meeting_exists", message="There is such a meeting already.")
    draft = Draft(None, cause_id=command.command_id, at=command.issued_at)
    draft.take(
        Created(
            account_id=command.account_id,
            meeting_id=command.meeting_id,
            idempotency_key=command.idempotency_key,
            details=command.details,
            at=command.issued_at,
        )
    )
    plan_create(draft)
    return Decided(kind="created", facts=draft.facts)


def change(state: MeetingState | None, command: ChangeMeeting) -> Decided | Rejection:
    """Other details, and the room brought up to them. A change that changes nothing makes no work."""
    refused = _refused(state, expected_version=command.expected_version)
    if state is None or refused is not None:
        return refused or NOT_FOUND
    details = _merged(state.details, command.changes)
    if isinstance(details, Rejection):
        return details
    draft = Draft(state, cause_id=command.command_id, at=command.issued_at)
    draft.take(DetailsChanged(details=details, at=command.issued_at))
    if details != state.details:
        plan_details(draft)
    return Decided(kind="changed", facts=draft.facts)


def cancel(state: MeetingState | None, command: CancelMeeting) -> Decided | Rejection:
    """No meeting any more, and no room."""
    refused = _refused(state, expected_version=command.expected_version)
    if state is None or refused is not None:
        return refused or NOT_FOUND
    draft = Draft(state, cause_id=command.command_id, at=command.issued_at)
    draft.take(Cancelled(at=command.issued_at))
    plan_cancel(draft)
    return Decided(kind="cancelled", facts=draft.facts)


def retry(state: MeetingState | None, command: RetryRoom) -> Decided | Rejection:
    """The room tried again by hand."""
    if state is None:
        return NOT_FOUND
    draft = Draft(state, cause_id=command.command_id, at=command.issued_at)
    plan_again(draft)
    return Decided(kind="retried", facts=draft.facts)


def _refused(state: MeetingState | None, *, expected_version: int | None) -> Rejection | None:
    if state is None:
        return NOT_FOUND
    if expected_version is not None and expected_version != state.version:
        return Rejection(
            code="version_conflict",
            message=f"The meeting is at version {state.version}, not {expected_version}.",
        )
    return CANCELLED if state.status == "cancelled" else None


def _merged(details: MeetingDetails, changes: str) -> MeetingDetails | Rejection:
    try:
        return apply_changes(details, changes)
    except ScheduleError as error:
        return Rejection(code="invalid_change", message=f"{error.field} {error}.")
    except ValidationError as error:
        raise BadMessage(f"the changes of a ChangeMeeting do not hold: {error.error_count()} errors") from error
