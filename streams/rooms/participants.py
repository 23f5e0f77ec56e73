"""Facts about who is in a run: joined, left, lobby, breakout rooms, roles, bindings, sharing, waiting for the host.

A connection (uuid, user_id) keeps its joins, leaves and lobby moves as points; they are paired when read, for a leave
does not say which join it ends. A blank field is absent here, never an erasure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from schemas.rooms.entry import NOTHING, Register
from streams.rooms.delta import Delta, heard, registers_of
from streams.rooms.fact import Fact, identifier
from streams.rooms.runs import BY_PARTICIPANT, start_register

IDENTITY = (
    ("user_name", "name"),
    ("email", "email"),
    ("participant_user_id", "user"),
    ("id", "user"),
    ("participant_uuid", "participant_uuid"),
    ("registrant_id", "registrant_id"),
    ("customer_key", "customer_key"),
    ("phone_number", "phone_number"),
    ("parent_user_id", "parent_user_id"),
    ("bind_user_id", "bind_user_id"),
    ("leave_reason", "leave_reason"),
    ("new_role", "role"),
)
"""Fields of a participant and their registers; `id` comes after the `participant_user_id` that replaces it and wins."""
FALLBACKS = ("participant_uuid", "registrant_id", "id", "customer_key", "user_name")
"""What stands in for a `user_id`, the best first."""


def joined(fact: Fact) -> list[Delta]:
    """`meeting.participant_joined`, of the main room or of a breakout room."""
    return _inside(fact, "joins", "join_time")


def left(fact: Fact) -> list[Delta]:
    """`meeting.participant_left`, of the main room or of a breakout room."""
    return _inside(fact, "leaves", "leave_time")


def put_in_lobby(fact: Fact) -> list[Delta]:
    """`meeting.participant_put_in_waiting_room`: from within the run."""
    return _inside(fact, "lobby_in", "date_time")


def admitted(fact: Fact) -> list[Delta]:
    """`meeting.participant_admitted`: somebody within the run let them in."""
    return _inside(fact, "lobby_out", "date_time")


def joined_lobby(fact: Fact) -> list[Delta]:
    """`meeting.participant_joined_waiting_room`: proves no run, one may wait before it."""
    return _outside(fact, "lobby_in", "date_time")


def left_lobby(fact: Fact) -> list[Delta]:
    """`meeting.participant_left_waiting_room`."""
    return _outside(fact, "lobby_out", "date_time")


def waiting_for_host(fact: Fact) -> list[Delta]:
    """`meeting.participant_jbh_waiting`: no run, no user_id and no time of its own."""
    return _outside(fact, "lobby_in", "")


def done_waiting_for_host(fact: Fact) -> list[Delta]:
    """`meeting.participant_jbh_waiting_left` and `_joined`: who joined will have a connection of their own."""
    return _outside(fact, "lobby_out", "")


def changed(fact: Fact) -> list[Delta]:
    """`meeting.participant_role_changed` and `_bind`: only registers."""
    return _inside(fact, "", "date_time")


def sharing_started(fact: Fact) -> list[Delta]:
    """`meeting.sharing_started`."""
    return _sharing(fact, "sharing_on")


def sharing_ended(fact: Fact) -> list[Delta]:
    """`meeting.sharing_ended`."""
    return _sharing(fact, "sharing_off")


def connection_id(participant: Mapping[str, Any], event_id: str) -> str:
    """The `user_id`, or `~field:value` for the best of what else names a participant."""
    user_id = identifier(participant.get("user_id"), "participant.user_id")
    if user_id:
        return user_id
    for field in FALLBACKS:
        value = identifier(participant.get(field), f"participant.{field}")
        if value:
            return f"~{field}:{value}"
    return f"~event:{event_id}"


def participant_of(fact: Fact) -> Mapping[str, Any]:
    """The participant in a fact."""
    participant = fact.subject.get("participant")
    return participant if isinstance(participant, dict) else {}


def _inside(fact: Fact, points: str, time_field: str) -> list[Delta]:
    """An event from within a run: it proves that the run started, and says when."""
    start = fact.own_time(fact.subject.get("start_time"), "start_time")
    registers = {} if start is None else {"run_started_at": start_register(start, BY_PARTICIPANT)}
    return [_connection(fact, points, time_field, registers, heard(fact, proves=True, started=1))]


def _outside(fact: Fact, points: str, time_field: str) -> list[Delta]:
    return [_connection(fact, points, time_field, {}, heard(fact, proves=True))]


def _connection(
    fact: Fact, points: str, time_field: str, registers: dict[str, Register], maxima: dict[str, int]
) -> Delta:
    """What a fact says of its participant, beside `registers` and `maxima`, which become part of it."""
    participant = participant_of(fact)
    time = fact.own_time(participant.get(time_field), time_field)
    if time is None:
        time = fact.time
        if points and time_field:
            maxima["time_assumed"] = 1
    member = () if time is None else ((time, identifier(fact.subject.get("breakout_room_uuid"), "breakout_room_uuid")),)
    return Delta(
        fact,
        "connection",
        (fact.uuid, connection_id(participant, fact.event_id)),
        registers_of(fact.clock, participant, IDENTITY, registers),
        points={points: member} if points and member else NOTHING,
        maxima=maxima,
    )


def _sharing(fact: Fact, points: str) -> list[Delta]:
    [connection] = _inside(fact, "", "")
    details = participant_of(fact).get("sharing_details")
    shared: Mapping[str, Any] = details if isinstance(details, dict) else {}
    time = fact.own_time(shared.get("date_time"), "sharing_details.date_time")
    at = fact.time if time is None else time
    content = shared.get("content")
    if at is not None:
        connection.points = {points: ((at, content if isinstance(content, str) else ""),)}
    return [connection]


HANDLERS: Mapping[str, Callable[[Fact], list[Delta]]] = {
    "meeting.participant_joined": joined,
    "meeting.participant_left": left,
    "meeting.participant_joined_breakout_room": joined,
    "meeting.participant_left_breakout_room": left,
    "meeting.participant_joined_waiting_room": joined_lobby,
    "meeting.participant_left_waiting_room": left_lobby,
    "meeting.participant_put_in_waiting_room": put_in_lobby,
    "meeting.participant_admitted": admitted,
    "meeting.participant_role_changed": changed,
    "meeting.participant_bind": changed,
    "meeting.participant_jbh_waiting": waiting_for_host,
    "meeting.participant_jbh_waiting_left": done_waiting_for_host,
    "meeting.participant_jbh_joined": done_waiting_for_host,
    "meeting.sharing_started": sharing_started,
    "meeting.sharing_ended": sharing_ended,
}
