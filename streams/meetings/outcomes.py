"""What the room worker's reports lead to.

Five kinds of report: the *outcome* of a call under its own epoch, which ends its work; a *late report*, of a call whose
epoch was taken over, so that what it did may have undone a later call; a *read back* of a room whose state is unsure; a
*sweep*'s find of a room that carries a key; and *drift*, somebody's change in Zoom, to be undone, accepted or told.
"""

from __future__ import annotations

from schemas.errors import BadMessage
from schemas.records.meeting_commands import RecordRoomOutcome, RoomFound
from schemas.records.meeting_events import MeetingRoom, MeetingState
from streams.meetings.callers import NOT_FOUND
from streams.meetings.draft import CANCEL, CREATE, REMOVE, UPDATE, Decided, Draft, Rejection
from streams.meetings.evolve import PROVIDER_UNAVAILABLE
from streams.meetings.facts import (
    Fact,
    ProblemNoted,
    RoomBound,
    RoomLost,
    RoomRemoved,
    RoomSeen,
    SecondRoomRemoved,
)
from streams.meetings.planning import needs_room, plan_again, plan_details, plan_update

OUTCOME, LATE_REPORT, READ_BACK, SWEEP = "outcome", "late_report", "read_back", "sweep"
DRIFT_RESTORED, DRIFT_ACCEPTED, DRIFT_REPORTED = "drift_restored", "drift_accepted", "drift_reported"
DRIFTS = frozenset({DRIFT_RESTORED, DRIFT_ACCEPTED, DRIFT_REPORTED})
GONE = "gone"
DRIFTED = "drifted"
"""Code of the problem that somebody changed the room in Zoom."""
NOT_TAKEN = "not_taken"
"""Code of the problem that Zoom dropped or altered some details."""


def record_outcome(state: MeetingState | None, command: RecordRoomOutcome) -> Decided | Rejection:
    """What a report changes, which may be nothing.

    Raises:
        BadMessage: there is no such report.
    """
    _check(command)
    if state is None:
        return NOT_FOUND
    draft = Draft(state, cause_id=command.command_id, at=command.issued_at)
    match command.kind:
        case "outcome":
            _outcome(draft, command)
        case "late_report":
            _late(draft, command)
        case "sweep":
            _found(draft, command)
        case "read_back":
            _read_back(draft, command)
        case _:
            _drift(draft, command)
    return Decided(kind=_kind(draft.facts, command), facts=draft.facts)


def _check(command: RecordRoomOutcome) -> None:
    kinds = {OUTCOME, LATE_REPORT, READ_BACK, SWEEP, *DRIFTS}
    actions = {CREATE, UPDATE, CANCEL, REMOVE}
    outcomes = {"done", "failed", "too_late", "dropped", GONE, PROVIDER_UNAVAILABLE}
    if command.kind == LATE_REPORT:
        outcomes.add("unknown")
    if command.kind not in kinds or command.action not in actions or command.outcome not in outcomes:
        raise BadMessage(f"no report is a {command.kind} of {command.action} that is {command.outcome}")


def _outcome(draft: Draft, command: RecordRoomOutcome) -> None:
    if command.outcome == PROVIDER_UNAVAILABLE:
        if draft.is_pending(command.provider_key):
            draft.note(PROVIDER_UNAVAILABLE, "Roomkeeper has no gateway to Zoom for this account at the moment.")
        return
    wanted = draft.is_pending(command.provider_key)
    draft.drop(command.provider_key)
    match (command.action, command.outcome):
        case ("create", "done"):
            _created(draft, command)
        case ("create" | "update", "dropped") if wanted:
            plan_details(draft)
        case ("create", "too_late") if wanted and draft.state.details.start_at > command.issued_at:
            plan_details(draft)  # the worker went by the meeting as it was before it was moved
        case ("create", _) if wanted:
            draft.drop_all(UPDATE)
            draft.note(command.error_code or command.outcome, command.error_message or "Zoom refused to make the room.")
        case ("update", _):
            _updated(draft, command, wanted=wanted)
        case ("cancel", _):
            _cancelled(draft, command, wanted=wanted)
        case ("remove", _):
            _removed(draft, command)


def _created(draft: Draft, command: RecordRoomOutcome) -> None:
    """A create made or found a room."""
    if command.room is None:
        return
    room, state = _as_room(command.room, key=command.provider_key), draft.state
    if state.room is not None and state.room.zoom_id == room.zoom_id:
        _known(draft, command)
    elif any(each.zoom_id == room.zoom_id for each in state.second_rooms):
        return
    elif state.status == "cancelled":
        _found_after_cancel(draft, room)
    elif _may_adopt(state) and room.host == state.details.host:
        _adopt(draft, room, command=command)
    else:
        draft.remove_second(room)


def _known(draft: Draft, command: RecordRoomOutcome) -> None:
    """The meeting has this room already. A late call may have set older details; on a cancelled meeting it is to go."""
    if draft.state.status == "cancelled":
        plan_again(draft)
    elif command.kind == LATE_REPORT:
        plan_update(draft, repair=True)


def _adopt(draft: Draft, room: MeetingRoom, *, command: RecordRoomOutcome) -> None:
    """The room becomes the meeting's own; the one it had under another host is one too many now."""
    earlier = draft.state.room
    draft.drop_all(CREATE)
    draft.take(RoomBound(room=room))
    if earlier is not None and earlier.gone_at is None:
        draft.remove_second(earlier)
    if _is_current(draft.state, command):
        _drop_served_updates(draft)
    elif command.kind != OUTCOME or not draft.pending(UPDATE):
        plan_update(draft, repair=command.kind != OUTCOME)
    draft.aim(UPDATE, room.zoom_id)
    _tell_differences(draft, command)


def _found_after_cancel(draft: Draft, room: MeetingRoom) -> None:
    if draft.state.room is None and draft.pending(CANCEL):
        draft.take(RoomBound(room=room))
        draft.aim(CANCEL, room.zoom_id)
    else:
        draft.remove_second(room)


def _updated(draft: Draft, command: RecordRoomOutcome, *, wanted: bool) -> None:
    match command.outcome:
        case "done":
            _see(draft, command.room)
            if _is_current(draft.state, command):
                _drop_served_updates(draft)
            _tell_differences(draft, command)
        case "gone":
            _lose(draft, command)
        case "failed" | "too_late" if wanted:
            draft.note(command.error_code or command.outcome, command.error_message or "Zoom refused the change.")


def _cancelled(draft: Draft, command: RecordRoomOutcome, *, wanted: bool) -> None:
    room = draft.state.room
    if command.outcome not in {"done", GONE, "dropped"}:
        if wanted:
            draft.note(
                command.error_code or command.outcome, command.error_message or "Zoom refused to delete the room."
            )
    elif room is None or room.zoom_id == command.zoom_id:
        if room is not None:
            draft.take(RoomRemoved())
        draft.solve()
    elif not draft.pending(CANCEL):
        # A room became known while the cancel looked for none, or for another.
        draft.add(CANCEL, host=room.host, zoom_id=room.zoom_id)


def _removed(draft: Draft, command: RecordRoomOutcome) -> None:
    second = [room for room in draft.state.second_rooms if room.zoom_id == command.zoom_id]
    if not second:
        return
    if command.outcome in {"done", GONE, "dropped"}:
        draft.take(SecondRoomRemoved(zoom_id=second[0].zoom_id))
    else:
        draft.note("second_room_remains", f"Zoom refused to delete the second room {second[0].zoom_id}.")


def _late(draft: Draft, command: RecordRoomOutcome) -> None:
    """The work itself is somebody else's now, and stays; only what the late call may have done to rooms counts."""
    state = draft.state
    if command.action == CREATE and command.outcome == "done":
        _created(draft, command)
    elif command.action == UPDATE and state.status == "scheduled" and not needs_room(state):
        plan_update(draft, repair=True)


def _found(draft: Draft, command: RecordRoomOutcome) -> None:
    """A sweep saw a room with a key: what is already known of it is no news."""
    room, state = command.room, draft.state
    if room is not None and (state.room is None or state.room.zoom_id != room.zoom_id):
        _created(draft, command)


def _read_back(draft: Draft, command: RecordRoomOutcome) -> None:
    state = draft.state
    if state.room is None or state.room.zoom_id != command.zoom_id or state.status == "cancelled":
        return
    if command.outcome == GONE:
        _lose(draft, command)
        return
    news = command.room is not None and command.room.shown != state.room.shown
    _see(draft, command.room)
    if state.problem is not None and state.problem.code == GONE:
        draft.solve()
    idle = all(work.action == REMOVE for work in state.pending)
    # Details that Zoom refused to take look the same each time, and are no reason to send them again.
    if news and idle and command.differences and command.version == state.version:
        plan_update(draft, repair=True)


def _drift(draft: Draft, command: RecordRoomOutcome) -> None:
    state = draft.state
    idle = all(work.action == REMOVE for work in state.pending)
    if not idle or state.status == "cancelled" or state.room is None or state.room.zoom_id != command.zoom_id:
        return
    if command.outcome == GONE:
        _lose(draft, command)
    else:
        _see(draft, command.room)
    if command.kind == DRIFT_RESTORED:
        plan_again(draft)
    elif command.kind == DRIFT_REPORTED and command.outcome != GONE:
        draft.note(DRIFTED, f"Changed in Zoom: {', '.join(command.differences)}.")


def _as_room(found: RoomFound, *, key: str) -> MeetingRoom:
    return MeetingRoom(
        zoom_id=found.zoom_id,
        uuid=found.uuid,
        host_id=found.host_id,
        host=found.host,
        join_url=found.join_url,
        provider_key=found.provider_key or key,
        shown=found.shown,
        shown_at=found.shown_at,
    )


def _may_adopt(state: MeetingState) -> bool:
    return needs_room(state) or (state.room is not None and state.room.gone_at is not None)


def _is_current(state: MeetingState, command: RecordRoomOutcome) -> bool:
    """Whether this very call brought the room up to the meeting's present details."""
    return command.kind == OUTCOME and command.version == state.version


def _drop_served_updates(draft: Draft) -> None:
    for work in draft.pending(UPDATE):
        if not work.repair:
            draft.drop(work.provider_key)


def _see(draft: Draft, found: RoomFound | None) -> None:
    room = draft.state.room
    if found is not None and room is not None and room.zoom_id == found.zoom_id and found.shown:
        draft.take(RoomSeen(shown=found.shown, at=found.shown_at))


def _lose(draft: Draft, command: RecordRoomOutcome) -> None:
    room = draft.state.room
    if room is None or room.zoom_id != command.zoom_id:
        return
    draft.drop_all(UPDATE)
    if room.gone_at is None:
        draft.take(RoomLost(at=command.issued_at))
    draft.note(GONE, "Zoom does not know the room any more.")


def _tell_differences(draft: Draft, command: RecordRoomOutcome) -> None:
    if command.differences:
        draft.note(NOT_TAKEN, f"Zoom did not take: {', '.join(command.differences)}.")
    else:
        draft.solve()


def _kind(facts: tuple[Fact, ...], command: RecordRoomOutcome) -> str:
    """Kind of the event that tells this: the weightiest fact names it."""
    kinds = {type(fact) for fact in facts}
    for fact, kind in ((RoomBound, "room_ready"), (RoomRemoved, "room_removed"), (RoomLost, "room_gone")):
        if fact in kinds:
            return kind
    if ProblemNoted in kinds and command.outcome in {"failed", "too_late"}:
        return "room_failed"
    if ProblemNoted in kinds and command.outcome == PROVIDER_UNAVAILABLE:
        return "room_unavailable"
    if RoomSeen in kinds:
        return "room_changed"
    return "outcome_recorded" if facts else "outcome_ignored"
