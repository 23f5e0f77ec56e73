"""Registrants as callers see them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from ingress.api.shapes import RoomProblemShape
from schemas.records.meeting_events import RegistrantState


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True)


class RegistrantShape(_Shape):
    """A person registered for a meeting."""

    registrant_id: str = Field(description="Ours; the e-mail address names the same person.")
    email: str = Field(examples=["guest@example.com"])
    first_name: str
    last_name: str
    status: str = Field(
        description="`registering`, `pending` (the host decides), `approved`, `denied`, `cancelled` or `failed`.",
        examples=["approved"],
    )
    join_url: str | None = Field(
        None, description="The person's own link to the meeting's present room; null while there is none."
    )
    zoom_registrant_id: str | None = Field(None, description="Zoom's, as attendance shows it.")
    pending: list[str] = Field(
        default_factory=list, description="Work that is still to be done: `register`, `approve`, `deny`, `unregister`."
    )
    problem: RoomProblemShape | None = Field(None, description="Zoom's reason, when something was refused.")
    created_at: datetime
    changed_at: datetime

    @classmethod
    def of_state(cls, state: RegistrantState, *, room: str | None) -> RegistrantShape:
        """As callers see the person; a link to another room than the present one is none."""
        problem = state.problem
        present = room is not None and state.zoom_id == room
        return cls(
            registrant_id=state.registrant_key,
            email=state.email,
            first_name=state.first_name,
            last_name=state.last_name,
            status=state.status,
            join_url=state.join_url if present else None,
            zoom_registrant_id=state.registrant_id if present else None,
            pending=[work.action for work in state.pending],
            problem=RoomProblemShape(code=problem.code, message=problem.message, at=problem.at) if problem else None,
            created_at=state.created_at,
            changed_at=state.changed_at,
        )


class RegistrantPage(_Shape):
    """Some people, newest first."""

    items: list[RegistrantShape]
    next_cursor: str | None = Field(description="Give it as `cursor` for what comes next; null at the end.")


class AcceptedPerson(_Shape):
    """One person's command."""

    email: str
    command_id: str
    status: str = Field(description="Status of the command.", examples=["pending"])
    command: str = Field(description="Where it is told what became of it.", examples=["/v1/commands/5b1e..."])


class AcceptedPeople(_Shape):
    """Commands that are safe in Kafka, one for each person, and not all finished yet."""

    meeting_id: str
    items: list[AcceptedPerson]


class DecidedPerson(AcceptedPerson):
    """What became of one person's command, and the person after it."""

    code: str | None = Field(None, description="Why it was rejected, as a word.", examples=["registrant_denied"])
    message: str | None = Field(None, description="Why it was rejected, as a sentence.")
    registrant: RegistrantShape | None = None


class DecidedPeople(_Shape):
    """What became of each person's command: one that was refused does not hold up the others."""

    meeting_id: str
    items: list[DecidedPerson]
