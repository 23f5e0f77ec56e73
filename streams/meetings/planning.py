"""Which room work a meeting needs, and how it merges with what is already pending.

An update replaces every pending one; a create for another host replaces the pending create; what is replaced but had
already started is seen to its end by the room worker all the same (only rows that never started are deleted).
"""

from __future__ import annotations

from schemas.records.meeting_events import MeetingState
from streams.meetings.draft import CANCEL, CREATE, UPDATE, Draft
from streams.meetings.facts import RoomRemoved


def needs_room(state: MeetingState) -> bool:
    """Whether the meeting has no room under the host it wants."""
    return state.room is None or state.room.host != state.details.host


def plan_details(draft: Draft) -> None:
    """The room is to become as the details say: a new room where there is none under this host, else an update."""
    host = draft.state.details.host
    for create in draft.pending(CREATE):
        if create.host != host or not needs_room(draft.state):
            draft.drop(create.provider_key)
    if needs_room(draft.state) and not draft.pending(CREATE):
        plan_create(draft)
    else:
        plan_update(draft)


def plan_create(draft: Draft) -> None:
    """A new room; it is made with the present details, so pending updates have nothing left to do."""
    draft.drop_all(UPDATE)
    draft.add(CREATE, host=draft.state.details.host)


def plan_update(draft: Draft, *, repair: bool = False) -> None:
    """One update under a fresh n in place of every pending one. What a replaced one had to repair is not forgotten."""
    repair = repair or any(work.repair for work in draft.pending(UPDATE))
    draft.drop_all(UPDATE)
    room = draft.state.room if not needs_room(draft.state) else None
    draft.add(UPDATE, host=draft.state.details.host, zoom_id=room.zoom_id if room else None, repair=repair)


def plan_cancel(draft: Draft) -> None:
    """No room any more. A create that never started is discarded; the room of one that did is found and removed."""
    started = bool(draft.pending(CREATE))
    draft.drop_all(CREATE)
    draft.drop_all(UPDATE)
    room = draft.state.room
    if (room is not None or started) and not draft.pending(CANCEL):
        host = room.host if room else draft.state.details.host
        draft.add(CANCEL, host=host, zoom_id=room.zoom_id if room else None)
    elif room is None:
        draft.solve()


def plan_again(draft: Draft) -> None:
    """Whatever is missing is tried again, a room that Zoom lost included."""
    state = draft.state
    if state.status == "cancelled":
        if state.room is not None and not draft.pending(CANCEL):
            draft.add(CANCEL, host=state.room.host, zoom_id=state.room.zoom_id)
        return
    if state.room is not None and state.room.gone_at is not None:
        draft.take(RoomRemoved())
    if not needs_room(draft.state):
        plan_update(draft, repair=True)
    elif not draft.pending(CREATE):
        plan_create(draft)
