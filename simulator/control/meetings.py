"""Orders about rooms: made or changed by hand in Zoom, started, ended, played, people coming and going.

Every function is a coroutine, although few wait: the world belongs to the event loop's thread.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query

from simulator import recordings, rooms, runs
from simulator.answers import whole_room
from simulator.control.orders import Joining, NewRoom, ScenarioOrder
from simulator.model import Connection, Person, Room, Run
from simulator.refusals import no_such_meeting
from simulator.service import Service
from simulator.wire import Json

_MOST_WAIT_SECONDS = 120
_RECORDING = "^(started|paused|resumed|stopped|completed)$"


def router(service: Service) -> APIRouter:
    """The routes under `/meetings`."""
    return _Meetings(service).routes()


class _Meetings:
    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> APIRouter:
        """Each order and the method that carries it out."""
        routes = APIRouter(prefix="/meetings", tags=["meetings"])
        routes.post("", status_code=201)(self.make)
        routes.patch("/{number}")(self.change)
        routes.delete("/{number}")(self.delete)
        for order in (self.recover, self.purge, self.start, self.end, self.restart, self.record, self.join):
            routes.post(f"/{{number}}/{order.__name__}")(order)
        routes.post("/{number}/play", status_code=202)(self.play)
        routes.post("/{number}/happened")(self.happened)
        routes.get("/{number}/play")(self.played)
        for move in (self.leave, self.lobby, self.admit, self.give_up, self.breakout):
            routes.post(f"/{{number}}/people/{{user_id}}/{move.__name__}")(move)
        return routes

    async def make(self, order: NewRoom) -> Json:
        """Somebody makes a room in Zoom's own pages."""
        account = self._service.world.accounts[order.account_id]
        host = self._service.world.host(account, order.host)
        now = self._service.clock.now()
        made = rooms.create(
            self._service.world, account=account, host=host, body=order.body, at=now, source="web_portal"
        )
        return whole_room(made)

    async def change(self, number: int, body: Annotated[dict[str, Any], Body()]) -> Json:
        """Somebody changes the room; the body is as in Zoom's change call."""
        room = self._room(number)
        rooms.change(self._service.world, room, body=body, at=self._service.clock.now())
        return whole_room(room)

    async def delete(self, number: int, occurrence_id: str | None = None) -> Json:
        """Somebody deletes the room, or one date of it."""
        now = self._service.clock.now()
        rooms.delete(self._service.world, self._room(number), at=now, occurrence_id=occurrence_id)
        return {"deleted": True}

    async def recover(self, number: int) -> Json:
        """Somebody brings a deleted room back."""
        rooms.recover(self._service.world, self._room(number), at=self._service.clock.now())
        return {"recovered": True}

    async def purge(self, number: int) -> Json:
        """A deleted room goes for good."""
        rooms.purge(self._service.world, self._room(number), at=self._service.clock.now())
        return {"purged": True}

    async def start(self, number: int) -> Json:
        """The room starts."""
        return _run(runs.start(self._service.world, self._room(number), at=self._service.clock.now()))

    async def end(self, number: int) -> Json:
        """The host ends it for all."""
        return _run(runs.end(self._service.world, self._room(number), at=self._service.clock.now()))

    async def restart(self, number: int) -> Json:
        """It ends and starts again at once, under a new uuid."""
        await self.end(number)
        return await self.start(number)

    async def record(self, number: int, what: Annotated[str, Query(pattern=_RECORDING)] = "started") -> Json:
        """Recording goes on or stops; `completed` gives the files of the last run."""
        world, room, now = self._service.world, self._room(number), self._service.clock.now()
        if what in ("started", "resumed"):
            recordings.begin(world, room, at=now, kind=what)
        elif what in ("paused", "stopped"):
            recordings.pause(world, room, at=now, kind=what)
        elif room.runs:
            recordings.complete(world, room, room.runs[-1], at=now)
        return {"recording": what}

    async def join(self, number: int, order: Joining) -> Json:
        """Somebody comes; a room that has not started starts."""
        world, room, now = self._service.world, self._room(number), self._service.clock.now()
        if room.live is None:
            runs.start(world, room, at=now)
        key = order.person or f"control:{room.users_seen}"
        person = Person(key=key, **order.model_dump(exclude={"person", "lobby"}))
        who = runs.connect(world, room, person)
        if order.lobby:
            runs.enter_lobby(world, room, who, at=now)
        else:
            runs.join(world, room, who, at=now)
        return _connection(room, who)

    async def leave(self, number: int, user_id: str) -> Json:
        """The connection goes."""
        room, who = self._who(number, user_id)
        runs.leave(self._service.world, room, who, at=self._service.clock.now())
        return _connection(room, who)

    async def lobby(self, number: int, user_id: str) -> Json:
        """The connection is put into the waiting room."""
        room, who = self._who(number, user_id)
        runs.enter_lobby(self._service.world, room, who, at=self._service.clock.now())
        return _connection(room, who)

    async def admit(self, number: int, user_id: str) -> Json:
        """The connection is let in."""
        room, who = self._who(number, user_id)
        runs.admit(self._service.world, room, who, at=self._service.clock.now())
        return _connection(room, who)

    async def give_up(self, number: int, user_id: str) -> Json:
        """The connection leaves the waiting room unadmitted."""
        room, who = self._who(number, user_id)
        runs.give_up(self._service.world, room, who, at=self._service.clock.now())
        return _connection(room, who)

    async def breakout(self, number: int, user_id: str, room_number: int = 1) -> Json:
        """The connection moves to a breakout room; `leave` of the new connection brings it back."""
        room, who = self._who(number, user_id)
        now = self._service.clock.now()
        return _connection(room, runs.to_breakout(self._service.world, room, who, number=room_number, at=now))

    async def play(self, number: int, order: ScenarioOrder) -> Json:
        """A scenario begins."""
        play = self._service.player.play(self._room(number), order.scenario())
        return {"zoom_id": str(number), "moments": len(play.moments)}

    async def happened(self, number: int, order: ScenarioOrder) -> Json:
        """A scenario that is over by now: all of it at once, under the times that it would have had."""
        steps = self._service.player.happened(self._room(number), order.scenario())
        return {"zoom_id": str(number), "steps": steps}

    async def played(self, number: int, wait: Annotated[float, Query(ge=0, le=_MOST_WAIT_SECONDS)] = 0.0) -> Json:
        """How far the scenario is; waits up to `wait` seconds for its end."""
        play = self._service.player.plays.get(number)
        if play is None:
            raise no_such_meeting(number)
        try:
            async with asyncio.timeout(wait):
                await play.done.wait()
        except TimeoutError:
            pass
        return {
            "zoom_id": str(number),
            "done": play.done.is_set(),
            "moments_left": len(play.moments),
            "failed": play.failed,
        }

    def _room(self, number: int) -> Room:
        room = self._service.world.find_room(number)
        if room is None:
            raise no_such_meeting(number)
        return room

    def _who(self, number: int, user_id: str) -> tuple[Room, Connection]:
        room = self._room(number)
        who = runs.running(room).connections.get(user_id)
        if who is None:
            raise no_such_meeting(f"{number}/{user_id}")
        return room, who


def _run(run: Run) -> Json:
    return {"uuid": run.uuid, "started_at": run.started_at, "ended_at": run.ended_at}


def _connection(room: Room, who: Connection) -> Json:
    run = runs.running(room)
    return {
        "uuid": run.uuid,
        "user_id": who.user_id,
        "participant_uuid": who.participant_uuid,
        "person": who.person.key,
        "present": who.present,
        "in_lobby": who.in_lobby,
    }
