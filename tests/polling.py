"""The poller beside everything that it works with, moved step by step.

Zoom's HTTP and PostgreSQL are real, the rooms are folded by the real fold and written by the real projection; webhooks are
folded when a test hears them, passes are made when it polls, and time passes when it says so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from pydantic import SecretStr

from projectors.projection import Consumed, Decoded
from projectors.rooms import RoomsProjection
from reconciler.poller.assembly import pass_over
from reconciler.poller.passes import PassReport
from runtime.cipher import new_key
from runtime.metrics.registry import Metrics
from runtime.postgres import AsyncDatabase, Connection, connect
from runtime.settings import Account, PollerSettings, SecuritySettings, Settings
from schemas.codec import decode, encode
from schemas.records.room_events import RoomEvent
from schemas.records.zoom_events import ZoomEvent
from simulator.faults import Fault, Kind, Target
from simulator.truth import RoomTruth, of_room
from tests.command_plane import Sent
from tests.rooms import Rooms
from tests.simulated_zoom import (
    ACCOUNT,
    HOST,
    Endpoint,
    ManualClock,
    SimulatedZoom,
    config,
    simulated_zoom,
    webhook_endpoint,
)
from tests.zoom_calls import app_of, zoom_client
from zoom.client.client import Permit, always
from zoom.webhooks import parse

SLOW_RATES = PollerSettings(share=1.0)
PROJECTION = RoomsProjection()
People = Mapping[str, int]
"""Seconds by identity."""


@dataclass(kw_only=True)
class PollingPlane:
    """Everything in one place."""

    settings: Settings
    connection: Connection
    zoom: SimulatedZoom
    endpoint: Endpoint
    clock: ManualClock
    sent: Sent = field(default_factory=Sent)
    """What passes handed to the broker."""
    rooms: Rooms = field(default_factory=Rooms)
    metrics: Metrics = field(default_factory=Metrics)
    poller: PollerSettings = SLOW_RATES
    _heard: int = 0
    _told: int = 0

    def make(self, *, topic: str = "Planning call", minutes: int = 60, starts_in: float = 60, **body: Any) -> int:
        """A room that somebody makes by hand; its number."""
        start = (self.clock.now() + timedelta(seconds=starts_in)).strftime("%Y-%m-%dT%H:%M:%SZ")
        asked = {"topic": topic, "type": 2, "start_time": start, "timezone": "UTC", "duration": minutes, **body}
        order = {"account_id": ACCOUNT.account_id, "host": HOST, "body": asked}
        return int(self.zoom.control("POST", "/meetings", json=order)["id"])

    def order(self, number: int, what: str, **arguments: Any) -> Any:
        """Something happens in a room: `start`, `end`, `join`, `people/ID/leave`."""
        return self.zoom.control("POST", f"/meetings/{number}/{what}", **arguments)

    def join(self, number: int, name: str, **who: str) -> str:
        """Somebody comes; the connection's id."""
        person = {"name": name, "email": f"{name.lower()}@example.com", "person": name, **who}
        return str(self.order(number, "join", json=person)["user_id"])

    def drop(self, *names: str, kind: Kind = Kind.DROP, **other: Any) -> Fault:
        """From now on, these webhooks are lost."""
        fault = Fault(target=Target.WEBHOOK, kind=kind, names=names or ("*",), **other)
        return self.zoom.service.faults.order(fault)

    def hear(self) -> int:
        """Fold and project the webhooks that have arrived, and say how many."""
        assert self.zoom.control("GET", "/settled", params={"wait": 20})["settled"]
        fresh = self.endpoint.received[self._heard :]
        self._heard = len(self.endpoint.received)
        self.fold(
            parse(
                each.body,
                account_id=ACCOUNT.account_id,
                request_id=each.headers.get("x-zm-request-id"),
                received_at=self.clock.now(),
                source="webhook",
            )
            for each in fresh
        )
        return len(fresh)

    def fold(self, events: Any) -> None:
        """Fold and project these events, as if they came from `zoom-events`."""
        known = len(self.rooms.outputs)
        for event in events:
            self.rooms.hear(event)
        batch = [Decoded(record=_through_bytes(each), consumed=_nowhere()) for each in self.rooms.outputs[known:]]
        if batch:
            with self.connection.transaction(), self.connection.cursor() as cursor:
                PROJECTION.apply(cursor, batch)

    async def poll(self, *, permit: Permit = always, tell: bool = True, **settings: Any) -> PassReport:
        """Make a pass, and fold what it told unless `tell` is false."""
        async with self.passes(**settings) as made:
            report: PassReport = await made.run(permit)
        if tell:
            self.deliver()
        return report

    @asynccontextmanager
    async def passes(self, **settings: Any) -> AsyncIterator[Any]:
        """What makes passes, under these settings of the poller."""
        own = self.settings.model_copy(update={"poller": self.poller.model_copy(update=settings)})
        async with (
            AsyncDatabase(own.postgres, role="poller") as database,
            zoom_client(self.zoom, self.clock, app=app_of(self.zoom)) as client,
        ):
            yield pass_over(
                database,
                client=client,
                sender=self.sent,
                accounts=[ACCOUNT.account_id],
                settings=own,
                clock=self.clock,
                metrics=self.metrics,
            )

    def deliver(self) -> int:
        """Fold what passes have sent since the last time."""
        fresh = self.sent.records[self._told :]
        self._told = len(self.sent.records)
        self.fold(decode(each.value, ZoomEvent) for each in fresh)
        return len(fresh)

    def rows(self, query: str, *values: Any) -> Sequence[tuple[Any, ...]]:
        """Rows of the database."""
        return [tuple(row.values()) for row in self.connection.execute(query, values)]

    def truth(self, number: int) -> RoomTruth:
        """What was true of a room."""
        return of_room(self.zoom.service.world.rooms[number], as_of=self.clock.now())

    def known_runs(self, number: int) -> dict[str, tuple[str, datetime | None, datetime | None]]:
        """Status, start and end of each run, as the read model has them."""
        query = "SELECT uuid, status, started_at, ended_at FROM instances WHERE zoom_id = %s"
        return {uuid: (status, begun, ended) for uuid, status, begun, ended in self.rows(query, str(number))}

    def true_runs(self, number: int) -> dict[str, tuple[str, datetime | None, datetime | None]]:
        """The same, as it was."""
        return {
            run.uuid: ("ended" if run.ended_at else "started", run.started_at, run.ended_at)
            for run in self.truth(number).instances
        }

    def known_people(self, number: int) -> dict[str, People]:
        """Seconds of each person by run, as the read model has them."""
        runs = self.rows("SELECT uuid FROM instances WHERE zoom_id = %s", str(number))
        query = "SELECT person, seconds FROM attendance(%s, %s, %s, %s)"
        arguments = (ACCOUNT.account_id, str(number))
        return {uuid: dict(self.rows(query, *arguments, uuid, self.clock.now())) for (uuid,) in runs}

    def true_people(self, number: int) -> dict[str, People]:
        """The same, as it was."""
        return {
            run.uuid: {person.identity or person.person: person.seconds for person in run.people}
            for run in self.truth(number).instances
        }

    def calls(self) -> dict[str, int]:
        """How often each endpoint was called."""
        found: dict[str, int] = {}
        for (name, _), count in self.zoom.service.calls.items():
            found[name] = found.get(name, 0) + count
        return found


@contextmanager
def polling_plane(settings: Settings, **simulator: Any) -> Iterator[PollingPlane]:
    """A plane over the test's database and a simulated Zoom of its own, at one clock."""
    clock = ManualClock()
    account = Account(account_id=ACCOUNT.account_id, gateway=True, plan="business")
    keys = SecuritySettings(encryption_keys=(SecretStr(new_key()),))
    with webhook_endpoint() as endpoint:
        subscribed = replace(ACCOUNT, webhook_url=endpoint.url)
        simulated = config(**{"limits": False, "accounts": (subscribed,), **simulator})
        with (
            simulated_zoom(simulated, clock) as zoom,
            connect(settings.postgres, role="test", autocommit=True) as connection,
        ):
            yield PollingPlane(
                settings=settings.model_copy(update={"accounts": (account,), "security": keys}),
                connection=connection,
                zoom=zoom,
                endpoint=endpoint,
                clock=clock,
            )


def differences(plane: PollingPlane, numbers: Mapping[int, str]) -> dict[str, Any]:
    """What is known otherwise than it was, by what was lost; empty when all is right."""
    found = {lost: _differing(known(plane, number), true(plane, number)) for number, lost in numbers.items()}
    return {lost: differing for lost, differing in found.items() if differing}


def _differing(found: Mapping[str, Any], real: Mapping[str, Any]) -> dict[str, Any]:
    """Field by field, down to what differs: as it is known, and as it was."""
    differing: dict[str, Any] = {}
    for name in found.keys() | real.keys():
        one, other = found.get(name), real.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            if below := _differing(one, other):
                differing[name] = below
        elif one != other:
            differing[name] = (one, other)
    return differing


def known(plane: PollingPlane, number: int) -> dict[str, Any]:
    """A room, its runs and who attended, as the read model has them."""
    rows = plane.rows("SELECT existence, topic FROM rooms WHERE zoom_id = %s", str(number))
    existence, topic = rows[0] if rows else ("unknown", None)
    identities = {name for people in plane.true_people(number).values() for name in people}
    return {
        "exists": existence == "exists",
        "topic": topic,
        "runs": plane.known_runs(number),
        "people": {uuid: _split(people, identities) for uuid, people in plane.known_people(number).items()},
    }


def true(plane: PollingPlane, number: int) -> dict[str, Any]:
    """The same, as it was."""
    truth = plane.truth(number)
    identities = {each.identity for run in truth.instances for each in run.people if each.identity}
    return {
        "exists": truth.exists,
        "topic": truth.topic,
        "runs": plane.true_runs(number),
        "people": {uuid: _split(people, identities) for uuid, people in plane.true_people(number).items()},
    }


def _split(people: Mapping[str, int], identities: set[str]) -> dict[str, Any]:
    """Seconds of those who can be recognised, and of anonymous guests."""
    strangers = sorted(seconds for name, seconds in people.items() if name not in identities)
    return {"strangers": strangers} | {name: seconds for name, seconds in people.items() if name in identities}


def _through_bytes(event: RoomEvent) -> Any:
    return PROJECTION.decode(
        Consumed(topic="room-events", partition=0, offset=0, timestamp_ms=0, key=None, value=encode(event))
    )


def _nowhere() -> Consumed:
    return Consumed(topic="room-events", partition=0, offset=0, timestamp_ms=0, key=None, value=b"")
