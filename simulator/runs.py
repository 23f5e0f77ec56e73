"""What happens in a room: it starts, people come and go, it ends.

A run's uuid is the room's until it ends; the next run has another. `user_id` is new for each join. Times are kept to
the second in which they lie, for that is all that Zoom's events tell of them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from simulator.identifiers import user_id
from simulator.model import Connection, Person, Room, Run, Stay
from simulator.payloads import meetings as told_of_meetings
from simulator.payloads import people as told
from simulator.refusals import cannot_access
from simulator.wire import whole_second
from simulator.world import World

LEFT, HOST_ENDED = "left the meeting", "Host ended the meeting"


def start(world: World, room: Room, *, at: datetime) -> Run:
    """A new run."""
    if room.live is not None:
        raise cannot_access("The meeting is already in progress.")
    run = Run(uuid=room.uuid, started_at=whole_second(at))
    world.keep_run(room, run)
    world.emit(room, told_of_meetings.started(room, run, world.shapes, at=at), at=at)
    return run


def end(world: World, room: Room, *, at: datetime) -> Run:
    """Everybody is sent out and the run is over; the room gets the uuid of its next run."""
    run = running(room)
    for who in run.connections.values():
        if who.present:
            leave(world, room, who, at=at, reason=HOST_ENDED)
        who.in_lobby = False
    run.ended_at = max(whole_second(at), run.started_at)
    room.uuid = world.ids.uuid()
    world.emit(room, told_of_meetings.ended(room, run, at=at), at=at)
    return run


def connect(world: World, room: Room, person: Person) -> Connection:
    """A connection that is nowhere yet, neither in the room nor in the lobby."""
    run = running(room)
    who = Connection(user_id=user_id(room.users_seen), participant_uuid=world.ids.guid(), person=person)
    room.users_seen += 1
    run.connections[who.user_id] = who
    return who


def join(world: World, room: Room, who: Connection, *, at: datetime) -> None:
    """The connection comes into its room."""
    run = running(room)
    if who.present:
        raise cannot_access("The participant is already in the meeting.")
    who.stays.append(Stay(joined_at=whole_second(at)))
    world.emit(room, told.joined(room, run, who, world.shapes, at=at), at=at)


def leave(world: World, room: Room, who: Connection, *, at: datetime, reason: str = LEFT) -> None:
    """The connection goes out of its room."""
    run = running(room)
    _close(who, at=at)
    world.emit(room, told.left(room, run, who, world.shapes, at=at, reason=reason), at=at)


def enter_lobby(world: World, room: Room, who: Connection, *, at: datetime) -> None:
    """The connection waits: at the door when it is new, put back there when it was inside."""
    kind = "put_in_waiting_room" if who.present else "joined_waiting_room"
    if who.present:
        _close(who, at=at)
    who.in_lobby = True
    world.emit(room, told.lobby(kind, room, running(room), who, at=at), at=at)


def admit(world: World, room: Room, who: Connection, *, at: datetime) -> None:
    """The connection is let in from the lobby."""
    _leave_lobby(who)
    for kind in ("admitted", "left_waiting_room"):
        world.emit(room, told.lobby(kind, room, running(room), who, at=at), at=at)
    join(world, room, who, at=at)


def give_up(world: World, room: Room, who: Connection, *, at: datetime) -> None:
    """The connection leaves the lobby without having been let in."""
    _leave_lobby(who)
    world.emit(room, told.lobby("left_waiting_room", room, running(room), who, at=at), at=at)


def to_breakout(world: World, room: Room, who: Connection, *, number: int, at: datetime) -> Connection:
    """The connection moves to a breakout room: another `user_id` whose parent is the main one, which stays open."""
    run = running(room)
    breakout = run.breakout_uuids.setdefault(number, world.ids.uuid())
    moved = connect(world, room, who.person)
    moved.participant_uuid = who.participant_uuid
    moved.parent_user_id, moved.breakout_room_uuid = who.user_id, breakout
    join(world, room, moved, at=at)
    return moved


def running(room: Room) -> Run:
    """The run in progress.

    Raises:
        Refusal: there is none.
    """
    if room.live is None:
        raise cannot_access("The meeting is not in progress.")
    return room.live


def _close(who: Connection, *, at: datetime) -> None:
    if not who.present:
        raise cannot_access("The participant is not in the meeting.")
    stay = who.stays[-1]
    who.stays[-1] = replace(stay, left_at=max(whole_second(at), stay.joined_at))


def _leave_lobby(who: Connection) -> None:
    if not who.in_lobby:
        raise cannot_access("The participant is not in the waiting room.")
    who.in_lobby = False
