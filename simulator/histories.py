"""Histories made by chance: what Zoom would tell of some rooms, beside what was true of them.

Pure: the same generator state and arguments give the same history. Events come in the order in which they happened;
whoever tests a fold shuffles, repeats and splits them. The truth is what Zoom's events can tell, to the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from runtime.randomness import Random
from simulator import answers, cast, registrations, rooms, truth
from simulator.config import AccountConfig, Plan, SimulatorConfig
from simulator.model import Room
from simulator.script import Scenario, write
from simulator.stage import Stage
from simulator.truth import RoomTruth
from simulator.wire import Json, encode, second_text
from simulator.world import Emission, World

ACCOUNT_ID = "Acct0ExampleNeutral001"
_GAP_SECONDS = 2.0
_NO_REGISTRATION = 2
_ASKED_SHARE = 1 / 3
_Deed = tuple[datetime, Callable[..., object]]
"""When, and what; it takes the moment as `at`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One webhook, undelivered."""

    name: str
    zoom_id: str
    at: datetime
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a call would have been answered at a moment of the history."""

    endpoint: str
    """`get`, `listed` (the room's item in its host's list), `instances`, `past`, `participants` or `report`."""
    zoom_id: str
    uuid: str | None
    """Of the run; None where the call is about the room."""
    at: datetime
    status: int
    body: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What was told, what calls would have been answered, and what was true at the end."""

    account_id: str
    told: tuple[Told, ...]
    answered: tuple[Answered, ...]
    """After each event that was chosen for it; empty unless asked for."""
    final: tuple[Answered, ...]
    """When all is over."""
    rooms: tuple[RoomTruth, ...]
    ends_at: datetime


def history(
    random: Random, *, begins_at: datetime, room_count: int = 1, people: int = 6, asked: Random | None = None
) -> History:
    """Rooms with everything that can happen to them, drawn from `random`, from `begins_at` on.

    With `asked`, the calls about a room are answered after a third of its events.
    """
    told: list[Told] = []
    answered: list[Answered] = []

    def take(emission: Emission) -> None:
        told.append(_told(emission))
        if asked is not None and asked.random() < _ASKED_SHARE:
            answered.extend(_answers(emission.room, at=emission.at))

    world = World(_config(random), take)
    last_at = begins_at
    for _ in range(room_count):
        room = _create(world, random, at=begins_at + timedelta(seconds=random.randrange(600)))
        last_at = max(last_at, _live(world, room, random, people=people))
    told.sort(key=lambda each: each.at)
    truths = tuple(truth.of_room(room, as_of=last_at) for room in world.rooms.values())
    final = [answer for room in world.rooms.values() for answer in _answers(room, at=last_at)]
    return History(
        account_id=ACCOUNT_ID,
        told=tuple(told),
        answered=tuple(answered),
        final=tuple(final),
        rooms=truths,
        ends_at=last_at,
    )


def scenario(random: Random, *, people: int) -> Scenario:
    """A scenario with some of everything."""
    return Scenario(
        people=people,
        minutes=random.choice((20.0, 45.0, 90.0)),
        rejoins=random.randrange(3),
        dropped=random.randrange(2),
        second_devices=random.randrange(2),
        lobbies=random.randrange(2),
        breakouts=random.randrange(2),
        same_second=random.randrange(2),
        anonymous=random.randrange(3),
        restarts=random.randrange(3),
        recorded=random.random() < 0.4,
        shared=random.random() < 0.4,
    )


def _config(random: Random) -> SimulatorConfig:
    account = AccountConfig(
        account_id=ACCOUNT_ID,
        client_id="Client0ExampleNeutral1",
        client_secret="unused",  # noqa: S106 - nobody signs or calls here
        webhook_secret="unused",  # noqa: S106 - the same
        plan=Plan.BUSINESS,
        hosts=3,
    )
    return SimulatorConfig(accounts=(account,), seed=random.getrandbits(48))


def _create(world: World, random: Random, *, at: datetime) -> Room:
    account = world.accounts[ACCOUNT_ID]
    host = random.choice(list(account.hosts.values()))
    body: Json = {"topic": f"Planning · {random.randrange(1_000)}", "type": 2, "duration": 45}
    body |= {"start_time": second_text(at + timedelta(hours=2)), "timezone": "Europe/London"}
    body["settings"] = {"approval_type": random.choice((0, 1, 2)), "waiting_room": random.random() < 0.5}
    if random.random() < 0.3:
        body |= {"type": 8, "recurrence": {"type": 1, "repeat_interval": 1, "end_times": 3}}
    return rooms.create(world, account=account, host=host, body=body, at=at)


def _live(world: World, room: Room, random: Random, *, people: int) -> datetime:
    created_at = room.created_at
    _carry_out(_preparations(world, room, random, at=created_at))
    played_until = _carry_out(_play(world, room, random, people=people, at=created_at + timedelta(hours=2)))
    return max(played_until, _carry_out(_finish(world, room, random, at=played_until + timedelta(minutes=5))))


def _carry_out(deeds: Iterable[_Deed]) -> datetime:
    last_at = datetime.min.replace(tzinfo=UTC)
    for at, deed in sorted(deeds, key=lambda each: each[0]):
        deed(at=at)
        last_at = at
    return last_at


def _preparations(world: World, room: Room, random: Random, *, at: datetime) -> list[_Deed]:
    deeds = [(at + timedelta(seconds=random.uniform(5, 3_000)), _change(world, room, random)) for _ in range(3)]
    if room.details.settings["approval_type"] != _NO_REGISTRATION:
        deeds += _register(world, room, random, at=at + timedelta(minutes=1))
    if room.occurrences and random.random() < 0.7:
        deeds += _change_dates(world, room, random, at=at + timedelta(minutes=55))
    return deeds


def _change(world: World, room: Room, random: Random) -> Callable[..., object]:
    wishes: tuple[Json, ...] = (
        {"topic": f"Planning · {random.randrange(1_000)}"},
        {"duration": random.choice((30, 60, 90)), "agenda": random.choice(("", "Bring the plan", "Übersicht"))},
        {"settings": {"waiting_room": random.random() < 0.5, "mute_upon_entry": random.random() < 0.5}},
    )
    return partial(rooms.change, world, room, body=random.choice(wishes))


def _change_dates(world: World, room: Room, random: Random, *, at: datetime) -> list[_Deed]:
    first, second, *_ = room.occurrences
    body = {"start_time": second_text(second.start_at + timedelta(hours=random.choice((1, 25))))}
    removed = partial(rooms.delete, world, room, occurrence_id=first.occurrence_id)
    moved = partial(rooms.change, world, room, body=body, occurrence_id=second.occurrence_id)
    return [(at, removed), (at + timedelta(seconds=30), moved)]


def _register(world: World, room: Room, random: Random, *, at: datetime) -> list[_Deed]:
    deeds: list[_Deed] = []
    for ordinal in range(1, random.randrange(2, 5)):
        named = {"email": f"registrant-{ordinal:02d}@example.com"}
        body = named | {"first_name": f"Régis {ordinal:02d}", "last_name": "Example"}
        action = random.choice(("approve", "approve", "deny", "cancel"))
        added_at = at + timedelta(seconds=ordinal)
        deeds.append((added_at, partial(registrations.add, world, room, body=body)))
        decided = partial(registrations.set_status, world, room, action=action, who=[named])
        deeds.append((added_at + timedelta(seconds=20), decided))
    return deeds


def _play(world: World, room: Room, random: Random, *, people: int, at: datetime) -> list[_Deed]:
    wanted, stage = scenario(random, people=people), Stage(world, room)
    known = max(1, people - 1 - wanted.anonymous)
    present = cast.assemble(
        host=room.host, registrants=room.registrants.values(), known=known, anonymous=wanted.anonymous
    )
    steps = write(wanted, cast=present, random=random, gap_seconds=_GAP_SECONDS)
    return [(at + timedelta(seconds=step.at_seconds), partial(stage.perform, step)) for step in steps]


def _finish(world: World, room: Room, random: Random, *, at: datetime) -> list[_Deed]:
    deeds: list[_Deed] = []
    if random.random() < 0.5:
        deeds.append((at, partial(rooms.delete, world, room)))
        if random.random() < 0.4:
            deeds.append((at + timedelta(minutes=1), partial(rooms.recover, world, room)))
        elif random.random() < 0.4:
            deeds.append((at + timedelta(minutes=2), partial(rooms.purge, world, room)))
    return deeds


def _told(emission: Emission) -> Told:
    return Told(
        name=emission.event.name, zoom_id=str(emission.room.number), at=emission.at, body=encode(emission.event.body)
    )


def _answers(room: Room, *, at: datetime) -> Iterator[Answered]:
    """Of every call about the room and its runs."""

    def answered(endpoint: str, body: Json, *, uuid: str | None = None, status: int = 200) -> Answered:
        return Answered(endpoint=endpoint, zoom_id=str(room.number), uuid=uuid, at=at, status=status, body=body)

    if room.exists:
        yield answered("get", answers.whole_room(room))
        yield answered("listed", answers.listed_room(room))
    else:
        yield answered("get", {"code": 3001, "message": "Meeting does not exist."}, status=404)
    finished = [run for run in room.runs if run.ended_at is not None]
    items = [{"uuid": run.uuid, "start_time": second_text(run.started_at)} for run in finished]
    yield answered("instances", {"meetings": items})
    for run in finished:
        yield answered("past", answers.past_meeting(room, run, now=at), uuid=run.uuid)
        for endpoint, rows_of in (("participants", answers.participants), ("report", answers.report)):
            yield answered(endpoint, {"participants": rows_of(room, run, now=at)}, uuid=run.uuid)
