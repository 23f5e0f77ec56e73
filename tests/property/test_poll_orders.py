"""Webhooks and what the poller sees of the same rooms, in every order, with any of them missing.

Histories are the simulator's, with the answers that its REST side would have given in between; the poller's own code
makes observations of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reconciler.poller.observing import Witness
from runtime.randomness import Random, seeded
from schemas.records.zoom_events import ZoomEvent
from schemas.rooms.attendance import attendance
from schemas.rooms.entry import entry_key
from schemas.rooms.room import RoomView, room_view
from simulator.histories import ACCOUNT_ID, Answered, History, history
from simulator.truth import RunTruth
from tests.command_plane import Sent
from tests.effort import examples
from tests.rooms import Rooms
from tests.simulated_zoom import ManualClock
from zoom.client.client import Reply
from zoom.client.decisions import NO_CODE, Decision, Ruling
from zoom.client.transport import Answer
from zoom.observations import Kind
from zoom.webhooks import parse

BEGINS_AT = datetime(2026, 3, 10, 10, tzinfo=UTC)
KINDS: dict[str, Kind] = {
    "get": "meeting",
    "listed": "listed_meeting",
    "instances": "past_instance",
    "past": "past_meeting",
    "participants": "past_participant",
    "report": "report_participant",
}
ROWS = {"instances": "meetings", "participants": "participants", "report": "participants"}
PASSES = (timedelta(0), timedelta(minutes=6), timedelta(minutes=12))
"""When all is over: a room that is gone counts as gone after the third."""
seeds = st.integers(0, 2**32)


@cache
def lived(seed: int) -> History:
    """A history with answers along the way."""
    return history(seeded(seed), begins_at=BEGINS_AT, asked=seeded(seed, "asked"))


def webhooks(made: History) -> list[ZoomEvent]:
    """What ingress would make of the history's webhooks."""
    return [
        parse(told.body, account_id=ACCOUNT_ID, request_id=str(at), received_at=made.ends_at + timedelta(hours=1))
        for at, told in enumerate(made.told)
    ]


def polls(answered: Iterable[Answered], made: History, *, elapsed: Random) -> list[ZoomEvent]:
    """What the poller would make of these answers, each of which took up to three seconds."""
    witness = Witness(Sent(), clock=ManualClock(at=made.ends_at + timedelta(hours=1)), topic_prefix="")
    return [event for each in answered for event in _saw(witness, each, elapsed.uniform(0, 3))]


def _saw(witness: Witness, answered: Answered, elapsed_seconds: float) -> Iterator[ZoomEvent]:
    is_there = answered.status == 200
    answer = Answer(
        status=answered.status,
        document=answered.body if is_there else None,
        code=NO_CODE if is_there else answered.body["code"],
        message="",
        headers={},
        sent_at=answered.at - timedelta(seconds=elapsed_seconds),
        elapsed_seconds=elapsed_seconds,
    )
    ruling = Ruling(decision=Decision.DONE if is_there else Decision.GONE, reason="done")
    reply = Reply(ruling=ruling, answer=answer, sent=True)
    about: dict[str, Any] = {"account_id": ACCOUNT_ID, "zoom_id": answered.zoom_id}
    kind = KINDS[answered.endpoint]
    if answered.endpoint not in ROWS:
        uuid = answered.uuid or answered.body.get("uuid")
        yield witness.saw(kind, reply, uuid=uuid, every_occurrence=answered.endpoint == "get", **about)
        return
    for row in answered.body[ROWS[answered.endpoint]]:
        yield witness.saw(kind, reply, uuid=answered.uuid or row["uuid"], answer=row, **about)


def afterwards(made: History, *, elapsed: Random) -> list[ZoomEvent]:
    """What three passes see when all is over; the report is asked for by the second alone."""
    answered = [
        replace(each, at=each.at + later)
        for later in PASSES
        for each in made.final
        if each.endpoint != "report" or later == PASSES[1]
    ]
    return polls(answered, made, elapsed=elapsed)


def shuffled(events: list[ZoomEvent], random: Random) -> list[ZoomEvent]:
    """All of them in any order, a third of them again."""
    doubled = [*events, *random.sample(events, k=len(events) // 3)]
    random.shuffle(doubled)
    return doubled


def attended(rooms: Rooms, made: History) -> dict[str, Any]:
    """What is known of every run."""
    now = int(made.ends_at.timestamp() * 1000)
    return {
        run.uuid: {
            "started_at": run.started_at,
            "ended_at": run.ended_at,
            "people": sorted((each.person[1], each.seconds) for each in people if each.person[0] != "connection"),
            "strangers": sorted(each.seconds for each in people if each.person[0] == "connection"),
        }
        for truth in made.rooms
        for run in rooms.runs(truth.zoom_id).values()
        for people in [attendance(run, rooms.connections(run.uuid, truth.zoom_id), now=now)]
    }


def true(made: History) -> dict[str, Any]:
    """What was true of every run."""
    return {run.uuid: _true_run(run) for room in made.rooms for run in room.instances}


def _true_run(run: RunTruth) -> dict[str, Any]:
    return {
        "started_at": _ms(run.started_at),
        "ended_at": _ms(run.ended_at) if run.ended_at else None,
        "people": sorted((each.identity, each.seconds) for each in run.people if each.identity),
        "strangers": sorted(each.seconds for each in run.people if not each.identity),
    }


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def view(rooms: Rooms, zoom_id: str) -> RoomView:
    """A room of the history as it is read."""
    own = rooms.entries.get(entry_key(ACCOUNT_ID, zoom_id))
    others = [each for each in rooms.entries.values() if each.identity.zoom_id == zoom_id and each is not own]
    return room_view(own, others)


def details(rooms: Rooms, made: History) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Of each room: whether it is there, what can change of it, and its dates, as they are known and as they are."""
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for truth in made.rooms:
        known = view(rooms, truth.zoom_id)
        if not truth.exists:
            is_gone = known.existence in ("deleted", "permanently_deleted", "gone_unconfirmed")
            found.append(({"is_gone": is_gone}, {"is_gone": True}))
            continue
        shown: dict[str, Any] = {name: known.details.get(name) for name in ("topic", "duration")}
        shown |= {name: known.details.get("settings", {}).get(name) for name in ("waiting_room", "mute_upon_entry")}
        real: dict[str, Any] = {"topic": truth.topic, "duration": truth.duration_minutes}
        real |= {name: truth.settings.get(name) for name in ("waiting_room", "mute_upon_entry")}
        dates = sorted(each.occurrence_id for each in truth.occurrences if each.status == "available")
        found.append(
            (
                {**shown, "existence": known.existence, "dates": list(known.dates)},
                {**real, "existence": "exists", "dates": dates},
            )
        )
    return found


@examples(60)
@given(seeds)
def test_any_order_of_webhooks_and_polls_gives_one_state(seed: int) -> None:
    """Whatever comes first, and however often: the same bytes, the true runs, attendance and details."""
    made, random = lived(seed), seeded(seed, "order")
    events = [*webhooks(made), *polls(made.answered, made, elapsed=random)]
    straight, mixed = Rooms(events), Rooms(shuffled(events, random))
    assert mixed.state() == straight.state()
    assert attended(mixed, made) == true(made)
    assert all(known == real for known, real in details(mixed, made))


@examples(60)
@given(seeds)
def test_a_poll_that_began_before_a_webhook_never_undoes_it(seed: int) -> None:
    """Answers of long ago that arrive last change neither runs, nor attendance, nor details."""
    made, random = lived(seed), seeded(seed, "order")
    before = Rooms(webhooks(made))
    after = Rooms([*webhooks(made), *polls(made.answered, made, elapsed=random)])
    assert all(known == real for known, real in details(after, made))
    assert all(
        {name: value for name, value in known.items() if value is not None}.items() <= later.items()
        for (known, _), (later, _) in zip(details(before, made), details(after, made), strict=True)
    )
    assert attended(after, made) == attended(before, made) == true(made)


@examples(60)
@given(seeds, st.sampled_from([0.3, 0.6, 1.0]))
def test_what_webhooks_leave_out_polls_supply(seed: int, share: float) -> None:
    """Whichever webhooks are lost, past data gives the true runs and attendance, and a GET the true details."""
    made, random = lived(seed), seeded(seed, "lost")
    kept = [each for each in webhooks(made) if random.random() >= share]
    rooms = Rooms(shuffled([*kept, *afterwards(made, elapsed=random)], random))
    assert attended(rooms, made) == true(made)
    assert all(known == real for known, real in details(rooms, made))


KINDS_OF_WEBHOOK = sorted(
    f"meeting.{name}"
    for name in (
        *("created", "updated", "deleted", "recovered", "permanently_deleted", "started", "ended"),
        *(f"participant_{what}" for what in ("joined", "left", "joined_waiting_room", "left_waiting_room")),
        *(f"participant_{what}" for what in ("put_in_waiting_room", "admitted")),
        *(f"participant_{what}_breakout_room" for what in ("joined", "left")),
    )
)


@examples(80)
@given(seeds, st.sampled_from(KINDS_OF_WEBHOOK))
def test_a_kind_of_webhook_that_never_comes_is_made_up_for(seed: int, missing: str) -> None:
    """Of each kind in turn: the rest and the polls give the truth."""
    made, random = lived(seed), seeded(seed, "order")
    kept = [each for each in webhooks(made) if each.name != missing]
    rooms = Rooms(shuffled([*kept, *afterwards(made, elapsed=random)], random))
    assert attended(rooms, made) == true(made)
    assert all(known == real for known, real in details(rooms, made))
