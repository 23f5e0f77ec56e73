"""The whole simulated Zoom: who and what exists, and where its events go.

A world knows no clock: each change is told when it happens, so that one world serves live runs and generated histories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from runtime.randomness import seeded
from simulator import refusals
from simulator.config import AccountConfig, Plan, SimulatorConfig
from simulator.identifiers import Identifiers
from simulator.model import Account, Host, Room, Run
from simulator.payloads.envelope import Event, Shapes

ROOMS_KEPT = 100_000
"""Beyond it the oldest deleted rooms, then the oldest of all, are forgotten."""

_PAID_EVENTS = (
    "meeting.updated",
    "meeting.deleted",
    "meeting.permanently_deleted",
    "meeting.participant_jbh",
    "meeting.registration",
    "recording.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Emission:
    """An event as it leaves the world."""

    account: Account
    event: Event
    room: Room
    at: datetime


Sink = Callable[[Emission], None]


class World:
    """Accounts, hosts and rooms of one simulated Zoom."""

    def __init__(self, config: SimulatorConfig, sink: Sink) -> None:
        """`sink` gets every event that the account's plan has."""
        self.ids = Identifiers(seeded(config.seed, "identifiers"))
        self.shapes = Shapes(seeded(config.seed, "shapes"), live_share=config.live_share)
        self.accounts = {each.account_id: self._account(each, config.seed) for each in config.accounts}
        self.rooms: dict[int, Room] = {}
        self._rooms_of: dict[str, dict[int, Room]] = {}
        self._room_of_run: dict[str, Room] = {}
        self.rooms_made = 0
        self._sink = sink

    def emit(self, room: Room, event: Event, *, at: datetime) -> None:
        """Tells the account's app, if the plan has such events."""
        if room.account.plan is Plan.FREE and event.name.startswith(_PAID_EVENTS):
            return
        self._sink(Emission(account=room.account, event=event, room=room, at=at))

    def host(self, account: Account, key: str) -> Host:
        """The host who may hold meetings.

        Raises:
            Refusal: unknown, pending or not allowed.
        """
        host = account.find_host(key)
        if host is None:
            raise refusals.no_such_user(key)
        if host.pending:
            raise refusals.pending_user(key)
        if not host.may_host:
            raise refusals.may_not_host()
        return host

    def room(self, account: Account, number: int | str) -> Room:
        """The room that exists under the number.

        Raises:
            Refusal: none, or it was deleted, or it is another account's.
        """
        found = self.find_room(number)
        if found is None or found.account is not account or not found.exists:
            raise refusals.no_such_meeting(number)
        return found

    def find_room(self, number: int | str) -> Room | None:
        """The room under the number, deleted or not."""
        text = str(number)
        return self.rooms.get(int(text)) if text.isascii() and text.isdecimal() else None

    def rooms_of(self, host: Host) -> Iterable[Room]:
        """Every room of the host, deleted ones included."""
        return self._rooms_of.get(host.host_id, {}).values()

    def find_run(self, uuid: str) -> tuple[Room, Run] | None:
        """The run with the uuid, and its room."""
        room = self._room_of_run.get(uuid)
        return None if room is None else next((room, run) for run in room.runs if run.uuid == uuid)

    def keep(self, room: Room) -> None:
        """Adds a room, forgetting the oldest when there are too many."""
        self.rooms[room.number] = room
        self._rooms_of.setdefault(room.host.host_id, {})[room.number] = room
        self.rooms_made += 1
        if len(self.rooms) > ROOMS_KEPT:
            gone = (each for each in self.rooms.values() if not each.exists)
            self._forget(next(gone, next(iter(self.rooms.values()))))

    def keep_run(self, room: Room, run: Run) -> None:
        """Adds a run to its room."""
        room.runs.append(run)
        self._room_of_run[run.uuid] = room

    def _forget(self, room: Room) -> None:
        del self.rooms[room.number], self._rooms_of[room.host.host_id][room.number]
        for run in room.runs:
            del self._room_of_run[run.uuid]

    def _account(self, config: AccountConfig, seed: int) -> Account:
        # Drawn apart from the meetings' ids, so that hosts keep their ids whatever else is drawn.
        ids = Identifiers(seeded(seed, "hosts", config.account_id))
        names = ["owner", *(f"host-{ordinal:02d}" for ordinal in range(1, config.hosts + 1))]
        owner, *hosts = (
            Host(host_id=ids.opaque(), email=f"{name}@example.com", name=_title(name), pmi=int(ids.digits(10)))
            for name in names
        )
        return Account(
            account_id=config.account_id,
            client_id=config.client_id,
            client_secret=config.client_secret,
            webhook_secret=config.webhook_secret,
            plan=config.plan,
            owner=owner,
            hosts={host.email: host for host in hosts},
            webhook_url=config.webhook_url,
            tracking_fields=config.tracking_fields,
        )


def _title(name: str) -> str:
    return name.replace("-", " ").title()
