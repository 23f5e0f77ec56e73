"""The decider of meetings: what a command leads to, as a pure function of the meeting and the command."""

from __future__ import annotations

from typing import assert_never

from schemas.records.meeting_commands import CancelMeeting, ChangeMeeting, CreateMeeting, RecordRoomOutcome, RetryRoom
from schemas.records.meeting_events import MeetingState
from streams.meetings.callers import cancel, change, create, retry
from streams.meetings.draft import Decided, Rejection
from streams.meetings.outcomes import record_outcome

Command = CreateMeeting | ChangeMeeting | CancelMeeting | RetryRoom | RecordRoomOutcome


def decide(state: MeetingState | None, command: Command) -> Decided | Rejection:
    """What the command leads to; the same for the same meeting and command, always.

    Raises:
        BadMessage: the command breaks its contract, so that nobody can have meant it.
    """
    match command:
        case CreateMeeting():
            return create(state, command)
        case ChangeMeeting():
            return change(state, command)
        case CancelMeeting():
            return cancel(state, command)
        case RetryRoom():
            return retry(state, command)
        case RecordRoomOutcome():
            return record_outcome(state, command)
        case _:
            assert_never(command)
