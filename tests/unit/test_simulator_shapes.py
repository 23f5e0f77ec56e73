"""What the simulated Zoom says has the shapes of the recorded samples: the same keys, the same types."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest

from runtime.randomness import seeded
from simulator import answers, recordings, registrations, rooms, runs
from simulator.histories import history
from simulator.model import Person, Room
from simulator.payloads import people as told_of_people
from simulator.script import Act, Step
from simulator.signature import encrypted_token, sign
from simulator.stage import Stage
from simulator.truth import of_room
from simulator.wire import Json, encode
from simulator.world import Emission, World
from tests.samples import FOLDER, read, rest, webhook
from tests.shapes import assert_shape
from tests.simulated_zoom import ACCOUNT, HOST, MOMENT, config


class Stagehand:
    """A world whose events are kept, with one room in it."""

    def __init__(self, *, live_share: float = 0.0, **body: Any) -> None:
        """`body` goes into the create call."""
        self.emitted: list[Emission] = []
        self.world = World(config(live_share=live_share), self.emitted.append)
        account = self.world.accounts[ACCOUNT.account_id]
        wish = {**rest("meeting_create.request"), **body}
        self.room: Room = rooms.create(
            self.world, account=account, host=account.hosts[HOST], body=wish, at=MOMENT - timedelta(days=1)
        )

    def bodies(self, name: str) -> list[Json]:
        """Bodies of an event, as they would be read back."""
        return [orjson.loads(encode(each.event.body)) for each in self.emitted if each.event.name == name]

    def act(self, *acts: tuple[Act, str], person: Person | None = None) -> None:
        """Plays acts five seconds apart."""
        stage, at, seen = Stage(self.world, self.room), MOMENT, {""}
        for act, line in acts:
            newcomer = person if act in (Act.JOIN, Act.WAIT) and line not in seen else None
            seen.add(line)
            within = "main" if act is Act.BREAKOUT else ""
            stage.perform(Step(at_seconds=0, act=act, line=line, person=newcomer, within=within), at=at)
            at += timedelta(seconds=5)


GUEST = Person(key="p", name="Guest One")


@pytest.mark.parametrize("live_share", [0.0, 1.0])
@pytest.mark.parametrize(
    ("event", "sample"),
    [
        ("meeting.started", "meeting.started"),
        ("meeting.ended", "meeting.ended"),
        ("meeting.participant_joined", "meeting.participant_joined.external_guest"),
        ("meeting.participant_left", "meeting.participant_left.external_guest"),
        ("meeting.participant_joined_waiting_room", "meeting.participant_joined_waiting_room"),
        ("meeting.participant_admitted", "meeting.participant_admitted"),
        ("meeting.participant_put_in_waiting_room", "meeting.participant_put_in_waiting_room"),
        ("meeting.participant_left_waiting_room", "meeting.participant_left_waiting_room"),
        ("meeting.participant_joined_breakout_room", "meeting.participant_joined_breakout_room"),
        ("meeting.participant_left_breakout_room", "meeting.participant_left_breakout_room"),
        ("meeting.sharing_started", "meeting.sharing_started"),
        ("meeting.sharing_ended", "meeting.sharing_ended"),
        ("recording.started", "recording.started"),
        ("recording.paused", "recording.paused"),
        ("recording.resumed", "recording.resumed"),
        ("recording.stopped", "recording.stopped"),
    ],
)
def test_events_of_a_run_have_the_shape_of_their_sample(event: str, sample: str, live_share: float) -> None:
    """Whatever happens in a run is told in the documented shape, or in the one seen live."""
    hand = Stagehand(live_share=live_share)
    hand.act(
        (Act.START, ""),
        (Act.WAIT, "main"),
        (Act.ADMIT, "main"),
        (Act.WAIT, "main"),
        (Act.ADMIT, "main"),
        (Act.RECORD, ""),
        (Act.PAUSE, ""),
        (Act.RESUME, ""),
        (Act.STOP, ""),
        (Act.SHARE, "main"),
        (Act.UNSHARE, "main"),
        (Act.BREAKOUT, "room"),
        (Act.LEAVE, "room"),
        (Act.LEAVE, "main"),
        (Act.END, ""),
        person=GUEST,
    )
    for body in hand.bodies(event):
        assert_shape(body, webhook(sample))
    assert hand.bodies(event)


@pytest.mark.parametrize("kind", ["jbh_joined", "jbh_waiting", "jbh_waiting_left"])
def test_join_before_host_has_neither_user_id_nor_time(kind: str) -> None:
    """The three join-before-host events have their samples' keys, and the last a number for an id."""
    hand = Stagehand()
    run = runs.start(hand.world, hand.room, at=MOMENT)
    event = told_of_people.before_host(kind, hand.room, run, GUEST, at=MOMENT)
    body = orjson.loads(encode(event.body))
    body["payload"]["object"]["participant"]["customer_key"] = "ck-0001"
    assert_shape(body, webhook(f"meeting.participant_{kind}"))
    assert type(body["payload"]["object"]["id"]) is type(
        webhook(f"meeting.participant_{kind}")["payload"]["object"]["id"]
    )


def test_role_and_alert_have_the_shape_of_their_samples() -> None:
    """The two events that need no act of a script have their samples' keys too."""
    hand = Stagehand()
    run = runs.start(hand.world, hand.room, at=MOMENT)
    who = runs.connect(hand.world, hand.room, GUEST)
    role = told_of_people.role_changed(hand.room, run, who, at=MOMENT, old="attendee", new="co-host")
    assert_shape(orjson.loads(encode(role.body)), webhook("meeting.participant_role_changed"))
    assert_shape(told_of_people.alert(hand.room, run, at=MOMENT).body, webhook("meeting.alert"))


@pytest.mark.parametrize("live_share", [0.0, 1.0])
def test_events_of_a_room_have_the_shape_of_their_samples(live_share: float) -> None:
    """Created, updated, deleted, recovered and permanently deleted are told as documented."""
    hand = Stagehand(live_share=live_share)
    world, room = hand.world, hand.room
    later = MOMENT + timedelta(days=1)
    wish = {"topic": "New", "duration": 60, "start_time": later.strftime("%Y-%m-%dT%H:%M:%SZ")}
    rooms.change(world, room, body=wish, at=MOMENT)
    rooms.change(world, room, body={"settings": {"waiting_room": False, "join_before_host": True}}, at=MOMENT)
    rooms.delete(world, room, at=MOMENT)
    rooms.recover(world, room, at=MOMENT)
    rooms.delete(world, room, at=MOMENT)
    rooms.purge(world, room, at=MOMENT)
    assert_shape(hand.bodies("meeting.created")[0], webhook("meeting.created.with_tracking_fields"))
    updated, settings_only = hand.bodies("meeting.updated")
    assert_shape(updated, webhook("meeting.updated"))
    assert_shape(settings_only, webhook("meeting.updated.settings_only"))
    for name in ("deleted", "recovered", "permanently_deleted"):
        assert_shape(hand.bodies(f"meeting.{name}")[0], webhook(f"meeting.{name}"))


def test_events_of_a_series_have_the_shape_of_their_samples() -> None:
    """A series tells its dates, a date that moves, and a date that goes."""
    hand = Stagehand(type=8, recurrence={"type": 1, "repeat_interval": 1, "end_times": 3}, tracking_fields=[])
    first, second, _ = hand.room.occurrences
    rooms.change(hand.world, hand.room, body={"duration": 20}, at=MOMENT, occurrence_id=first.occurrence_id)
    rooms.delete(hand.world, hand.room, at=MOMENT, occurrence_id=second.occurrence_id)
    assert_shape(hand.bodies("meeting.created")[0], webhook("meeting.created.recurring"))
    assert_shape(hand.bodies("meeting.updated")[0], webhook("meeting.updated.one_occurrence"))
    assert_shape(hand.bodies("meeting.deleted")[0], webhook("meeting.deleted.one_occurrence"))


def test_events_of_registrants_have_the_shape_of_their_samples() -> None:
    """Registrations are told as created, then as approved, denied or cancelled."""
    hand = Stagehand(settings={"approval_type": 1})
    for action in ("approve", "deny", "cancel"):
        email = f"{action}@example.com"
        registrations.add(hand.world, hand.room, body={"email": email, "first_name": "A", "last_name": "B"}, at=MOMENT)
        registrations.set_status(hand.world, hand.room, action=action, who=[{"email": email}], at=MOMENT)
    for name in ("created", "approved", "denied", "cancelled"):
        assert_shape(hand.bodies(f"meeting.registration_{name}")[0], webhook(f"meeting.registration_{name}"))


def test_a_finished_recording_has_the_shape_of_its_sample() -> None:
    """The files of a recording are told with all their keys, under the run's uuid."""
    hand = Stagehand()
    hand.act((Act.START, ""), (Act.RECORD, ""), (Act.STOP, ""), (Act.END, ""))
    recordings.complete(hand.world, hand.room, hand.room.runs[0], at=MOMENT)
    (body,) = hand.bodies("recording.completed")
    sample = webhook("recording.completed")
    sample["payload"]["object"].pop("auto_delete_date")
    assert_shape(body, sample)
    assert body["payload"]["object"]["recording_files"][0]["meeting_id"] == hand.room.runs[0].uuid


def test_rest_answers_have_the_shape_of_their_samples() -> None:
    """Create, list, past meeting, participants and registrant answer with their samples' keys and types."""
    hand = Stagehand()
    assert_shape(answers.whole_room(hand.room), rest("meeting_create.201"))
    assert_shape(answers.listed_room(hand.room), rest("meetings_list.200")["meetings"][0])
    hand.act((Act.START, ""), (Act.JOIN, "main"), (Act.LEAVE, "main"), (Act.END, ""), person=GUEST)
    run = hand.room.runs[0]
    assert_shape(answers.past_meeting(hand.room, run, now=MOMENT), rest("past_meeting.200"))
    rows = answers.participants(hand.room, run, now=MOMENT)
    assert_shape(rows, rest("past_participants.200")["participants"])
    assert (len(rows), rows[0]["duration"]) == (1, 5)


def test_the_first_run_keeps_the_created_uuid_and_the_next_has_another() -> None:
    """Created, started and ended carry one uuid; a restart of the number carries a new one."""
    hand = Stagehand()
    hand.act((Act.START, ""), (Act.END, ""), (Act.START, ""), (Act.END, ""))
    created = hand.bodies("meeting.created")[0]["payload"]["object"]["uuid"]
    started = [body["payload"]["object"]["uuid"] for body in hand.bodies("meeting.started")]
    ended = [body["payload"]["object"]["uuid"] for body in hand.bodies("meeting.ended")]
    assert started[0] == created != started[1]
    assert started == ended


def test_a_personal_room_runs_under_the_hosts_own_number() -> None:
    """With the personal meeting room in use, a run is told under the host's number, as type 4, with another topic."""
    hand = Stagehand(settings={"use_pmi": True})
    hand.act((Act.START, ""))
    subject = hand.bodies("meeting.started")[0]["payload"]["object"]
    assert (int(subject["id"]), subject["type"]) == (hand.room.host.pmi, 4)
    assert subject["topic"] != hand.room.details.topic


def test_key_order_is_that_of_the_emitter() -> None:
    """Runtime events put `event` first, participant events put it last, as recorded."""
    hand = Stagehand()
    hand.act((Act.START, ""), (Act.JOIN, "main"), person=GUEST)
    keys = [list(hand.bodies(name)[0]) for name in ("meeting.started", "meeting.participant_joined")]
    assert keys == [["event", "event_ts", "payload"], ["payload", "event_ts", "event"]]


def test_signatures_are_those_of_the_vectors() -> None:
    """Signing gives every recorded signature, and the challenge its recorded answer."""
    vectors = read(FOLDER / "vectors" / "signature_vectors.json")
    secret = vectors["secret_token"]
    for vector in vectors["vectors"]:
        timestamp = int(vector["headers"]["x-zm-request-timestamp"])
        signature = sign(secret, timestamp=timestamp, body=vector["raw_body_utf8"].encode())
        assert signature == vector["headers"]["x-zm-signature"], vector["name"]
    answer = vectors["crc_response"]
    assert encrypted_token(secret, answer["plainToken"]) == answer["encryptedToken"]


def test_bodies_are_compact_utf8() -> None:
    """Bodies are written without spaces and without escapes, as recorded."""
    assert encode({"topic": "Weekly ü blue", "id": 1}) == '{"topic":"Weekly ü blue","id":1}'.encode()


def test_histories_repeat_by_seed() -> None:
    """Equal seeds give equal histories, other seeds others."""
    one, same, other = (history(seeded(seed), begins_at=MOMENT, room_count=2) for seed in (5, 5, 6))
    assert one == same != other


def test_a_history_tells_all_that_its_truth_holds() -> None:
    """Every run and connection of the truth is told of, and every told connection is in the truth."""
    for seed in range(20):
        made = history(seeded(seed), begins_at=MOMENT)
        told = set()
        for each in made.told:
            if each.name in ("meeting.participant_joined", "meeting.participant_joined_breakout_room"):
                subject = orjson.loads(each.body)["payload"]["object"]
                told.add((subject["uuid"], subject["participant"]["user_id"]))
        true = {
            (run.uuid, connection.user_id)
            for room in made.rooms
            for run in room.instances
            for person in run.people
            for connection in person.connections
        }
        assert told == true


def test_the_truth_is_the_union_of_stays() -> None:
    """A person on two devices at once, and in a breakout room, is counted once."""
    hand = Stagehand()
    person = Person(key="p", name="Guest One", email="guest@example.com")
    world, room = hand.world, hand.room
    runs.start(world, room, at=MOMENT)
    laptop, phone = (runs.connect(world, room, person) for _ in range(2))
    runs.join(world, room, laptop, at=MOMENT)
    runs.join(world, room, phone, at=MOMENT + timedelta(seconds=600))
    breakout = runs.to_breakout(world, room, laptop, number=1, at=MOMENT + timedelta(seconds=700))
    runs.leave(world, room, breakout, at=MOMENT + timedelta(seconds=800))
    runs.leave(world, room, laptop, at=MOMENT + timedelta(seconds=3_000))
    runs.end(world, room, at=MOMENT + timedelta(seconds=3_600))
    (found,) = of_room(room, as_of=MOMENT).instances[0].people
    assert (found.seconds, found.present, len(found.connections)) == (3_600, False, 3)
