"""The state of a meeting after a fact. Pure and total: it never refuses, that was `decide`'s to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import assert_never

from schemas.errors import Broken
from schemas.records.meeting_events import MeetingState
from streams.meetings.facts import (
    Cancelled,
    Created,
    DetailsChanged,
    Fact,
    ProblemNoted,
    ProblemSolved,
    RoomBound,
    RoomLost,
    RoomRemoved,
    RoomSeen,
    SecondRoomFound,
    SecondRoomRemoved,
    WorkAdded,
    WorkAimed,
    WorkDropped,
)

PROVIDER_UNAVAILABLE = "provider_unavailable"
"""Code of the problem that no gateway to Zoom is configured, or that it is switched off."""


def evolve(state: MeetingState | None, fact: Fact) -> MeetingState:
    """The meeting after the fact.

    Raises:
        Broken: a fact about a meeting that was never created, which `decide` never makes.
    """
    if isinstance(fact, Created):
        return _created(fact)
    if state is None:
        raise Broken(f"{type(fact).__name__} of a meeting that was never created")
    after = _changed(state, fact)
    return replace(after, room_status=room_status_of(after))


def evolve_all(state: MeetingState | None, facts: Iterable[Fact]) -> MeetingState | None:
    """The meeting after all of the facts, in their order."""
    return reduce(evolve, facts, state)


def room_status_of(state: MeetingState) -> str:
    """How the meeting stands towards Zoom, in one word."""
    pending = {work.action for work in state.pending}
    if state.status == "cancelled":
        return "removing" if "cancel" in pending else "removed" if state.room is None else "failed"
    if state.room is not None:
        return "ready" if state.room.gone_at is None else "gone"
    if "create" not in pending:
        return "failed"
    unavailable = state.problem is not None and state.problem.code == PROVIDER_UNAVAILABLE
    return PROVIDER_UNAVAILABLE if unavailable else "pending"


def _created(fact: Created) -> MeetingState:
    return MeetingState(
        account_id=fact.account_id,
        meeting_id=fact.meeting_id,
        version=1,
        status="scheduled",
        details=fact.details,
        idempotency_key=fact.idempotency_key,
        created_at=fact.at,
        changed_at=fact.at,
        room_status="pending",
    )


def _changed(state: MeetingState, fact: Fact) -> MeetingState:  # noqa: PLR0911 - one for each fact
    match fact:
        case Created():
            return state
        case DetailsChanged():
            return replace(state, details=fact.details, version=state.version + 1, changed_at=fact.at)
        case Cancelled():
            return replace(state, status="cancelled", version=state.version + 1, changed_at=fact.at)
        case ProblemNoted():
            return replace(state, problem=fact.problem)
        case ProblemSolved():
            return replace(state, problem=None)
        case WorkAdded() | WorkDropped() | WorkAimed():
            return _work(state, fact)
        case SecondRoomFound():
            return replace(state, second_rooms=(*state.second_rooms, fact.room))
        case SecondRoomRemoved():
            rooms = tuple(room for room in state.second_rooms if room.zoom_id != fact.zoom_id)
            return replace(state, second_rooms=rooms)
        case RoomBound() | RoomSeen() | RoomLost() | RoomRemoved():
            return _room(state, fact)
        case _:
            assert_never(fact)


def _work(state: MeetingState, fact: WorkAdded | WorkDropped | WorkAimed) -> MeetingState:
    match fact:
        case WorkAdded(work=work):
            return replace(state, pending=(*state.pending, work), last_n=max(state.last_n, work.n))
        case WorkDropped(provider_key=key):
            return replace(state, pending=tuple(each for each in state.pending if each.provider_key != key))
        case WorkAimed(provider_key=key, zoom_id=zoom_id):
            aimed = (replace(each, zoom_id=zoom_id) if each.provider_key == key else each for each in state.pending)
            return replace(state, pending=tuple(aimed))


def _room(state: MeetingState, fact: RoomBound | RoomSeen | RoomLost | RoomRemoved) -> MeetingState:
    if isinstance(fact, RoomBound):
        return replace(state, room=fact.room)
    if isinstance(fact, RoomRemoved) or state.room is None:
        return replace(state, room=None)
    if isinstance(fact, RoomLost):
        return replace(state, room=replace(state.room, gone_at=fact.at))
    return replace(state, room=replace(state.room, shown=fact.shown, shown_at=fact.at, gone_at=None))
