"""What commands about registrants lead to. Each person is an entry of its own, so a meeting does not grow with them.

A person is registered once for a room, however often that is asked for; only one who was cancelled or failed is
registered anew, and one whose meeting has another room now, so that the link is one to that room. What a decision
replaces is dropped, but for the registration itself, which everything else needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from schemas.errors import BadMessage
from schemas.ids import AccountId, MeetingId, registrant_key_for, registrant_work_key_for
from schemas.records.meeting_commands import MOVES, AddRegistrant, RecordRegistrantOutcome, SetRegistrant
from schemas.records.meeting_events import MeetingState, RegistrantState, RoomProblem, RoomWork
from streams.meetings.callers import CANCELLED, NOT_FOUND
from streams.meetings.draft import Rejection
from streams.meetings.evolve import PROVIDER_UNAVAILABLE

RegistrantCommand = AddRegistrant | SetRegistrant | RecordRegistrantOutcome

REGISTER, APPROVE, DENY, UNREGISTER = "register", "approve", "deny", "unregister"
ACTIONS = {"approve": APPROVE, "deny": DENY, "cancel": UNREGISTER}
"""What callers say, and the work that does it."""
_REACHED = {APPROVE: "approved", DENY: "denied", UNREGISTER: "cancelled"}
_AGAIN = frozenset({"cancelled", "failed"})
_THERE = frozenset({"approved", "pending"})

REGISTRATION_OFF = Rejection(
    code="registration_off", message="The meeting takes no registrations: its approval_type is 2."
)
REGISTRANT_NOT_FOUND = Rejection(code="registrant_not_found", message="There is no such registrant.")
REGISTRANT_DENIED = Rejection(code="registrant_denied", message="The registrant was denied; approve it instead.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrantDecided:
    """What a command leads to: the entry after it."""

    kind: str
    state: RegistrantState | None
    """None where nothing is known of the person, and nothing comes to be known."""


def decide_registrant(
    meeting: MeetingState | None, state: RegistrantState | None, command: RegistrantCommand
) -> RegistrantDecided | Rejection:
    """What the command leads to; the same for the same entries and command, always.

    Raises:
        BadMessage: the command breaks its contract, so that nobody can have meant it.
    """
    if isinstance(command, RecordRegistrantOutcome):
        return _outcome(state, command)
    if meeting is None:
        return NOT_FOUND
    if meeting.status == "cancelled":
        return CANCELLED
    if isinstance(command, AddRegistrant):
        return _add(meeting, state, command)
    return _set(meeting, state, command)


def _add(meeting: MeetingState, state: RegistrantState | None, command: AddRegistrant) -> RegistrantDecided | Rejection:
    if meeting.details.settings.approval_type == 2:
        return REGISTRATION_OFF
    if state is not None and state.status == "denied" and not state.pending:
        return REGISTRANT_DENIED
    leaving = state is not None and any(work.action == UNREGISTER for work in state.pending)
    moved = state is not None and _moved(meeting, state)
    asked = command.issued_by != MOVES and (state is None or state.status in _AGAIN or leaving)
    if state is not None and not asked and not moved:
        return RegistrantDecided(kind="registrant_unchanged", state=state)
    named = replace(
        _anew(state or _new(command), command),
        email=command.email,
        first_name=command.first_name,
        last_name=command.last_name,
    )
    if moved and state is not None and state.status == "approved" and meeting.details.settings.approval_type == 1:
        # The host approved the person for the room before, and need not do it twice.
        named = _with_work(named, APPROVE, command)
    return RegistrantDecided(kind="registrant_added", state=named)


def _set(meeting: MeetingState, state: RegistrantState | None, command: SetRegistrant) -> RegistrantDecided | Rejection:
    action = ACTIONS.get(command.action)
    if action is None:
        raise BadMessage(f"a registrant cannot be asked to {command.action}")
    if state is None or (state.status == "failed" and action != UNREGISTER):
        return REGISTRANT_NOT_FOUND
    if state.status == "cancelled" and not state.pending and action != UNREGISTER:
        return REGISTRANT_NOT_FOUND
    wanted = state.pending[-1].action if state.pending else None
    if wanted == action or (wanted is None and state.status in (_REACHED[action], "failed")):
        return RegistrantDecided(kind="registrant_unchanged", state=state)
    keeps = action != UNREGISTER
    pending = tuple(work for work in state.pending if keeps and work.action == REGISTER)
    kept = replace(state, pending=pending, changed_at=command.issued_at)
    if keeps and _moved(meeting, state):
        kept = _anew(state, command)
    return RegistrantDecided(kind="registrant_changed", state=_with_work(kept, action, command))


def _outcome(state: RegistrantState | None, command: RecordRegistrantOutcome) -> RegistrantDecided:
    _check(command)
    if state is None:
        return RegistrantDecided(kind="outcome_ignored", state=None)
    if command.outcome == PROVIDER_UNAVAILABLE:
        return _noted(state, command, kind="outcome_recorded")
    wanted = any(work.provider_key == command.provider_key for work in state.pending)
    released = command.kind == "outcome"
    pending = tuple(work for work in state.pending if not released or work.provider_key != command.provider_key)
    after = replace(state, pending=pending)
    if command.outcome == "done" and command.action == REGISTER:
        after = _registered(after, command)
    elif wanted and released and _is_reached(command):
        after = _decided(after, command)
    elif wanted and released and command.outcome in {"failed", "gone"}:
        return _noted(_failed(after, command), command, kind="registrant_failed")
    kind = "outcome_ignored" if after == state else "registrant_changed"
    return RegistrantDecided(kind=kind, state=after)


def _registered(state: RegistrantState, command: RecordRegistrantOutcome) -> RegistrantState:
    """Zoom has the person. A decision that is pending still follows; one who is leaving is only known by its id."""
    status = command.status or "approved"
    leaving = any(work.action == UNREGISTER for work in state.pending)
    return replace(
        state,
        zoom_id=command.zoom_id,
        registrant_id=command.registrant_id,
        join_url=command.join_url,
        status=status if state.status == "registering" or leaving else state.status,
        problem=None,
        changed_at=command.issued_at,
    )


def _is_reached(command: RecordRegistrantOutcome) -> bool:
    """Whether the decision took effect; a person who is not there any more is unregistered."""
    return command.outcome == "done" or (command.outcome == "gone" and command.action == UNREGISTER)


def _decided(state: RegistrantState, command: RecordRegistrantOutcome) -> RegistrantState:
    approved = command.action == APPROVE
    return replace(
        state,
        status=_REACHED[command.action],
        registrant_id=command.registrant_id or state.registrant_id,
        join_url=(command.join_url or state.join_url) if approved else None,
        problem=None,
        changed_at=command.issued_at,
    )


def _failed(state: RegistrantState, command: RecordRegistrantOutcome) -> RegistrantState:
    """A registration that failed leaves nothing to decide about; a decision that failed leaves the person as it was."""
    if command.action != REGISTER:
        return state
    return replace(state, status="failed", pending=())


def _noted(state: RegistrantState, command: RecordRegistrantOutcome, *, kind: str) -> RegistrantDecided:
    problem = RoomProblem(
        code=command.error_code or command.outcome,
        message=command.error_message or command.outcome,
        at=command.issued_at,
    )
    return RegistrantDecided(kind=kind, state=replace(state, problem=problem, changed_at=command.issued_at))


def _new(command: AddRegistrant) -> RegistrantState:
    key = registrant_key_for(AccountId(command.account_id), MeetingId(command.meeting_id), command.email)
    return RegistrantState(
        account_id=command.account_id,
        meeting_id=command.meeting_id,
        registrant_key=key,
        email=command.email,
        first_name=command.first_name,
        last_name=command.last_name,
        status="registering",
        created_at=command.issued_at,
        changed_at=command.issued_at,
    )


def _moved(meeting: MeetingState, state: RegistrantState) -> bool:
    """Whether the person is registered for another room than the meeting has now, and nothing is under way."""
    room = meeting.room
    if room is None or room.gone_at is not None or state.zoom_id in (None, room.zoom_id):
        return False
    return state.status in _THERE and not state.pending


def _anew(state: RegistrantState, command: AddRegistrant | SetRegistrant) -> RegistrantState:
    """To be registered, whatever was before; only a room's own answer gives an id and a link to it."""
    fresh = replace(
        state,
        status="registering",
        zoom_id=None,
        registrant_id=None,
        join_url=None,
        problem=None,
        pending=(),
        changed_at=command.issued_at,
    )
    return _with_work(fresh, REGISTER, command)


def _with_work(state: RegistrantState, action: str, command: AddRegistrant | SetRegistrant) -> RegistrantState:
    n = state.last_n + 1
    key = registrant_work_key_for(MeetingId(state.meeting_id), action, state.registrant_key, n)
    work = RoomWork(
        provider_key=key,
        action=action,
        n=n,
        host="",
        zoom_id=state.zoom_id,
        added_at=command.issued_at,
        cause_id=command.command_id,
    )
    return replace(state, last_n=n, pending=(*state.pending, work))


def _check(command: RecordRegistrantOutcome) -> None:
    outcomes = {"done", "failed", "gone", "dropped", PROVIDER_UNAVAILABLE}
    if command.kind == "late_report":
        outcomes.add("unknown")
    actions = {REGISTER, *_REACHED}
    if (
        command.kind not in {"outcome", "late_report"}
        or command.action not in actions
        or command.outcome not in outcomes
    ):
        raise BadMessage(f"no report is a {command.kind} of {command.action} that is {command.outcome}")
