"""A decision in the making: the facts chosen so far, and the meeting as they leave it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from schemas.errors import Broken
from schemas.ids import MeetingId, ProviderKey, provider_key_for
from schemas.records.meeting_events import MeetingRoom, MeetingState, RoomProblem, RoomWork
from streams.meetings.evolve import evolve
from streams.meetings.facts import (
    Fact,
    ProblemNoted,
    ProblemSolved,
    SecondRoomFound,
    WorkAdded,
    WorkAimed,
    WorkDropped,
)

CREATE, UPDATE, CANCEL, REMOVE = "create", "update", "cancel", "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a command leads to."""

    kind: str
    """Kind of the event that tells it."""
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why a command leads to nothing."""

    code: str
    message: str


class Draft:
    """Takes facts one after the other. Work is merged here: whoever adds some says what it replaces."""

    def __init__(self, state: MeetingState | None, *, cause_id: str, at: datetime) -> None:
        """`at` is when the command was issued, the only time a decision knows."""
        self._state = state
        self._cause_id = cause_id
        self._at = at
        self._facts: list[Fact] = []

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What was taken, in order."""
        return tuple(self._facts)

    @property
    def state(self) -> MeetingState:
        """The meeting after what was taken."""
        if self._state is None:
            raise Broken("a decision about a meeting that was never created")
        return self._state

    def take(self, fact: Fact) -> None:
        """Choose a fact."""
        self._state = evolve(self._state, fact)
        self._facts.append(fact)

    def pending(self, action: str) -> tuple[RoomWork, ...]:
        """Pending work of one kind."""
        return tuple(work for work in self.state.pending if work.action == action)

    def is_pending(self, provider_key: str) -> bool:
        """Whether this work is still wanted."""
        return any(work.provider_key == provider_key for work in self.state.pending)

    def add(self, action: str, *, host: str, zoom_id: str | None = None, repair: bool = False) -> None:
        """Add work under a fresh n."""
        n = self.state.last_n + 1
        key = provider_key_for(MeetingId(self.state.meeting_id), action, n)
        work = RoomWork(
            provider_key=key,
            action=action,
            n=n,
            host=host,
            zoom_id=zoom_id,
            added_at=self._at,
            cause_id=self._cause_id,
            repair=repair,
        )
        self.take(WorkAdded(work=work))

    def drop(self, provider_key: str) -> None:
        """No longer want this work; nothing happens if it was not wanted."""
        if self.is_pending(provider_key):
            self.take(WorkDropped(provider_key=provider_key))

    def drop_all(self, action: str) -> None:
        """No longer want any work of this kind."""
        for work in self.pending(action):
            self.drop(ProviderKey(work.provider_key))

    def aim(self, action: str, zoom_id: str) -> None:
        """Pending work of this kind is about this room."""
        for work in self.pending(action):
            if work.zoom_id != zoom_id:
                self.take(WorkAimed(provider_key=work.provider_key, zoom_id=zoom_id))

    def remove_second(self, room: MeetingRoom) -> None:
        """Keep a room that is one too many in mind, and remove it."""
        self.take(SecondRoomFound(room=room))
        self.add(REMOVE, host=room.host, zoom_id=room.zoom_id)

    def note(self, code: str, message: str) -> None:
        """Say what is wrong with the room; the same again is no news."""
        known = self.state.problem
        if known is None or (known.code, known.message) != (code, message):
            self.take(ProblemNoted(problem=RoomProblem(code=code, message=message, at=self._at)))

    def solve(self) -> None:
        """Nothing is wrong with the room."""
        if self.state.problem is not None:
            self.take(ProblemSolved())
