"""The command plane in one process, moved step by step.

Commands are folded and projected when a test says so, workers work when it says so, and time passes when it says so.
PostgreSQL and Zoom's HTTP are real; the workers' records are handed over in memory, in the order in which they were sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from projectors.meetings import MeetingsProjection
from projectors.projection import Consumed, Decoded
from reconciler.gateway.alerts import Alerts, AppAlerts
from reconciler.gateway.breaker import Breakers
from reconciler.gateway.budgets import Budgets
from reconciler.gateway.hosts import Hosts
from reconciler.rooms.actions import Actions
from reconciler.rooms.moving import Moves
from reconciler.rooms.queue import Queue
from reconciler.rooms.readback import ReadBacks
from reconciler.rooms.reporting import Reporter
from reconciler.rooms.sweeping import Sweep
from reconciler.rooms.worker import RoomWorker
from reconciler.rooms.zoom import RoomCalls
from runtime.kafka.producer import Delivery, Outgoing
from runtime.postgres import AsyncDatabase, Connection, connect
from runtime.randomness import seeded
from runtime.settings import RoomSettings, Settings, ZoomSettings
from schemas.codec import decode, encode
from schemas.errors import Unavailable
from schemas.ids import AccountId
from schemas.records.meeting_commands import RecordRoomOutcome
from schemas.records.meeting_events import MeetingEvent, MeetingState
from schemas.records.tables import Revised
from schemas.records.zoom_events import ZoomEvent
from simulator.model import Room
from streams.meetings.answering import AnyCommand
from streams.meetings.fold import COMMANDS
from tests.meeting_commands import Caller, Table
from tests.simulated_zoom import ACCOUNT, HOST, ManualClock, SimulatedZoom, config, simulated_zoom
from tests.zoom_calls import app_of
from zoom.client.client import Gate, Tries, ZoomClient
from zoom.client.tokens import App, ProcessTokens, TokenCall

START = "2027-03-20T09:00:00"
QUICK = RoomSettings(keep_backoff_seconds=(0.0, 0.0, 0.0), call_backoff_seconds=(0.0, 0.0), call_timeout_seconds=2.0)


@dataclass
class Sent:
    """What workers handed to the broker; with `down` set, the broker is away and takes none of what it is offered."""

    records: list[Outgoing] = field(default_factory=list)
    down: bool = False
    offered: int = 0

    async def deliver(self, record: Outgoing) -> Delivery:
        """Takes the record."""
        self.offered += 1
        if self.down:
            raise Unavailable("the broker is away")
        self.records.append(record)
        return Delivery(topic=record.topic, partition=0, offset=len(self.records) - 1)

    def outcomes(self) -> list[RecordRoomOutcome]:
        """Reports that were sent, in order."""
        return [decode(each.value, RecordRoomOutcome) for each in self.records if each.topic == "meeting-commands"]

    def observations(self) -> list[ZoomEvent]:
        """Observations that were sent, in order."""
        return [decode(each.value, ZoomEvent) for each in self.records if each.topic == "zoom-events"]


class Stall(httpx.AsyncBaseTransport):
    """Holds answers of one kind of request back until it is let go: Zoom has acted, the worker does not know."""

    def __init__(self, inner: httpx.AsyncBaseTransport, method: str, *, loses: bool = False) -> None:
        """Around a real transport; one that `loses` answers breaks the connection in place of them."""
        self._inner = inner
        self._method = method
        self._loses = loses
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends at once, answers when it may."""
        response = await self._inner.handle_async_request(request)
        if request.method == self._method and "/v2/" in str(request.url):
            self.reached.set()
            await self.go_on.wait()
            if self._loses:
                await response.aclose()
                raise httpx.ReadError("the connection broke")
        return response


@dataclass(kw_only=True)
class Plane:
    """Everything in one place."""

    settings: Settings
    connection: Connection
    zoom: SimulatedZoom
    clock: ManualClock
    sent: Sent = field(default_factory=Sent)
    table: Table = field(default_factory=Table)
    caller: Caller = field(default_factory=lambda: Caller(account=AccountId(ACCOUNT.account_id)))
    projection: MeetingsProjection = field(default_factory=MeetingsProjection)
    read_backs: ReadBacks = field(init=False)
    """Of the newest worker."""
    sweep: Sweep = field(init=False)
    """Of the newest worker."""
    moves: Moves = field(init=False)
    """Of the newest worker."""
    _delivered: int = 0

    def put(self, *commands: AnyCommand) -> list[MeetingEvent]:
        """Decide these commands and project what follows."""
        events = [self.table.put(command) for command in commands]
        self.project(*events)
        return events

    def project(self, *events: MeetingEvent) -> None:
        """Write events to PostgreSQL, in one transaction."""
        batch = [Decoded(record=event, consumed=_nowhere()) for event in events]
        if batch:
            with self.connection.transaction(), self.connection.cursor() as cursor:
                self.projection.apply(cursor, batch)

    def deliver(self) -> list[MeetingEvent]:
        """Decide and project what the workers have sent since the last time."""
        fresh = self.sent.records[self._delivered :]
        self._delivered = len(self.sent.records)
        return self.put(*(decode(each.value, *COMMANDS) for each in fresh if each.topic == "meeting-commands"))

    def rebuild(self) -> None:
        """The database is lost, and made anew from the changelog of the meetings table."""
        self.connection.execute("TRUNCATE meetings, commands, registrants, room_requests, unsure_meetings, swept_hosts")
        newest = len(self.table.events) - 1
        entries = [Revised(generation=0, revision=newest, entry=encode(entry)) for entry in self.table.entries.values()]
        with self.connection.transaction(), self.connection.cursor() as cursor:
            self.projection.restore(cursor, [Decoded(record=entry, consumed=_nowhere()) for entry in entries])

    def create(self, **other: Any) -> None:
        """A meeting in the future, decided and projected."""
        self.put(self.caller.create(**{"start_time": START, **other}))

    @property
    def meeting(self) -> MeetingState:
        """The caller's meeting."""
        return self.table.meeting(self.caller)

    def rooms(self, *, exist: bool = True) -> list[Room]:
        """Rooms at Zoom, the oldest first."""
        return [room for room in self.zoom.service.world.rooms.values() if room.exists or not exist]

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of the database."""
        return [tuple(row.values()) for row in self.connection.execute(query, values)]

    def requests(self) -> list[str]:
        """Rows of work as `action:n`."""
        return [text for (text,) in self.rows("SELECT action || ':' || n FROM room_requests ORDER BY n")]

    @asynccontextmanager
    async def worker(
        self,
        name: str = "a",
        *,
        rooms: RoomSettings = QUICK,
        accounts: Sequence[str] = (ACCOUNT.account_id,),
        wrap: Callable[[httpx.AsyncBaseTransport], httpx.AsyncBaseTransport] | None = None,
        app: App | None = None,
        gated: bool = False,
        **client: Any,
    ) -> AsyncIterator[RoomWorker]:
        """A worker that works when it is told to."""
        transport: httpx.AsyncBaseTransport = httpx.AsyncHTTPTransport()
        transport = wrap(transport) if wrap else transport
        async with (
            AsyncDatabase(self.settings.postgres, role=f"rooms-{name}") as database,
            httpx.AsyncClient(transport=transport) as http,
        ):
            if gated:
                client["gates"] = self.gates(database)
            made = self._client(http, app or app_of(self.zoom), rooms, client)
            calls = RoomCalls(made, clock=self.clock, tracking_fields=self._fields())
            queue = Queue(database, worker=name, clock=self.clock, settings=rooms)
            random = seeded(1, name)
            reporter = Reporter(self.sent, worker=name, clock=self.clock, topic_prefix="")
            parts: Any = {"reporter": reporter, "accounts": accounts, "settings": rooms, "clock": self.clock}
            worker = RoomWorker(
                queue=queue,
                actions=Actions(calls=calls, queue=queue, settings=rooms, clock=self.clock, random=random),
                random=random,
                **parts,
            )
            self.read_backs = ReadBacks(database, calls=calls, **parts)
            self.sweep = Sweep(database, calls=calls, random=random, **parts)
            self.moves = Moves(database, reporter=reporter, accounts=accounts, clock=self.clock)
            yield worker

    def gates(self, database: AsyncDatabase, *, plan: str = "pro") -> tuple[Gate, ...]:
        """The gates that all processes share, over the test's database."""
        alerts, zoom = Alerts(database, clock=self.clock), ZoomSettings()
        return (
            AppAlerts(alerts),
            Hosts(database),
            Breakers(database, settings=zoom, alerts=alerts, clock=self.clock),
            Budgets(database, plans={ACCOUNT.account_id: plan}, settings=zoom, clock=self.clock),
        )

    def _client(self, http: httpx.AsyncClient, app: App, rooms: RoomSettings, other: Mapping[str, Any]) -> ZoomClient:
        first, limit = rooms.call_backoff_seconds
        tries = Tries(
            most=rooms.call_attempts,
            first_seconds=first,
            limit_seconds=limit,
            call_seconds=rooms.call_timeout_seconds,
        )
        arguments: dict[str, Any] = {
            "http": http,
            "tokens": ProcessTokens(TokenCall(http, clock=self.clock, timeout_seconds=5), clock=self.clock),
            "clock": self.clock,
            "uniform": seeded(1, "client").uniform,
            "tries": tries,
        }
        return ZoomClient({app.account_id: app}, **(arguments | dict(other)))

    def _fields(self) -> dict[str, str | None]:
        return {ACCOUNT.account_id: None}


@contextmanager
def command_plane(settings: Settings, **simulator: Any) -> Iterator[Plane]:
    """A plane over the test's database and a simulated Zoom of its own, at one clock."""
    clock = ManualClock()
    with (
        simulated_zoom(config(limits=False, **simulator), clock) as zoom,
        connect(settings.postgres, role="test", autocommit=True) as connection,
    ):
        yield Plane(settings=settings, connection=connection, zoom=zoom, clock=clock)


@asynccontextmanager
async def stalled(
    plane: Plane, method: str, *, loses: bool = False
) -> AsyncIterator[tuple[RoomWorker, Stall, asyncio.Task[int]]]:
    """A worker in the middle of a call that Zoom has acted on and that has not come back."""
    stalls: list[Stall] = []

    def wrap(inner: httpx.AsyncBaseTransport) -> Stall:
        stalls.append(Stall(inner, method, loses=loses))
        return stalls[0]

    patient = QUICK.model_copy(update={"call_timeout_seconds": 60.0})
    async with plane.worker("slow", wrap=wrap, rooms=patient) as worker:
        working = asyncio.create_task(worker.run_once())
        await stalls[0].reached.wait()
        try:
            yield worker, stalls[0], working
        finally:
            stalls[0].go_on.set()
            with suppress(asyncio.CancelledError):
                await working


def after_the_lease(plane: Plane) -> None:
    """Time passes until a lease that is not renewed is over."""
    plane.clock.advance(seconds=121)


def decoy(plane: Plane) -> Room:
    """A room with the meeting's topic and time that a person made by hand."""
    from simulator import rooms

    account = plane.zoom.service.world.accounts[ACCOUNT.account_id]
    host = account.hosts[HOST]
    body = {"topic": "Planning call", "type": 2, "start_time": START, "timezone": "Europe/Madrid", "duration": 60}
    return rooms.create(
        plane.zoom.service.world, account=account, host=host, body=body, at=plane.clock.now(), source="web_portal"
    )


def _nowhere() -> Consumed:
    return Consumed(topic="meeting-events", partition=0, offset=0, timestamp_ms=0, key=None, value=None)
