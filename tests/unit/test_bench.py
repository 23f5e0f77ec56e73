"""The parts of the benchmarks that a run cannot check by itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import fields
from pathlib import Path
from xml.etree import ElementTree as ET

from bench.chart import Bar, bars_svg
from bench.growth.cases import Rooms
from bench.peers.arguments import Arguments
from bench.profile.parts import PARTS, shares
from bench.report import percentile, ratio
from bench.room_events import joined, meeting_number, mixed, started
from bench.streams.codec import decode_status, encode_status
from bench.streams.sides import Where
from bench.streams.status import status_of
from bench.streams.workload import Workload, expect
from schemas.rooms.entry import Entry, decode_entry
from streams.engine.revised import unpack
from streams.fold import Input
from streams.rooms.fold import RoomsFold


def test_expected_statuses_are_those_of_the_latest_events() -> None:
    """The oracle of the simple fold agrees with sorting each meeting's events by time."""
    workload = Workload(events=2_000, meetings=20)
    by_meeting = defaultdict(list)
    for event in workload:
        by_meeting[event["meeting_id"]].append(event)
    latest = {
        meeting: status_of(max(events, key=lambda each: (each["happened_at_ms"], each["event_id"])))
        for meeting, events in by_meeting.items()
    }
    expected = expect(workload)
    assert expected.statuses == latest
    assert len(expected.answers) == workload.events
    assert 0 < sum(not each["applied"] for each in expected.answers.values()) < workload.events / 2


def test_statuses_are_about_300_bytes_and_survive_their_encoding() -> None:
    """The state of the simple fold has the promised size and loses nothing."""
    status = status_of(next(iter(Workload(events=1, meetings=1))))
    assert 250 < len(encode_status(status)) < 350
    assert decode_status(encode_status(status)) == status


def test_every_room_event_has_outputs_and_comes_once() -> None:
    """The webhooks of the workload are facts that the product's fold answers, none of them twice."""
    fold = RoomsFold()
    records = list(mixed(events=500, rooms=7))
    folded = [
        fold.fold(Input("zoom-events", 0, number, 0, key.decode(), value), lambda _: None, generation=0)
        for number, (key, value) in enumerate(records)
    ]
    assert len(set(records)) == 500
    assert all(each.outputs for each in folded)


def test_a_grown_table_is_what_the_fold_would_leave() -> None:
    """Its keys are those of folded events, each under its room's number, and the first room's entries are the same."""
    fold, table = RoomsFold(), dict[str, Entry]()
    for room in range(3):
        for key, value in (started(room=room), joined(room=room, person=0, second=1)):
            table.update(fold.fold(Input("zoom-events", 0, 0, 0, key.decode(), value), table.get, generation=0).entries)
    kept = {key.decode(): (number, unpack(value)[2]) for number, key, value in Rooms(size=3).table()}
    assert {key: entry.identity.zoom_id for key, entry in table.items()} == {key: each[0] for key, each in kept.items()}
    first = {key: entry.encode() for key, entry in table.items() if entry.identity.zoom_id == meeting_number(0)}
    assert first == {key: entry for key, (number, entry) in kept.items() if number == meeting_number(0)}
    assert all(decode_entry(entry).key == key for key, (_, entry) in kept.items())


def test_peers_read_the_arguments_that_the_bench_writes() -> None:
    """Both ends of a peer's command line have the same names in the same order."""
    where = Where(bootstrap_servers="b", app_id="a", source="s", output="o", state_dir=Path("/d"), partitions=8)
    names = [field.name for field in fields(Arguments)]
    assert names == [field.name for field in fields(Where)]
    assert where.arguments() == [str(getattr(where, name)) for name in names]


def test_ratios_are_of_medians_and_absent_without_a_peer() -> None:
    """One slow round does not move a ratio, and what was not run has none."""
    assert ratio([10.0, 20.0, 90.0], [5.0, 10.0, 11.0]) == 2.0
    assert ratio([10.0], []) is None


def test_percentiles_are_values_that_occurred() -> None:
    """The 99th percentile of a hundred values is the greatest of them."""
    values = [float(number) for number in range(100)]
    assert percentile(values, 0.5) == 50.0
    assert percentile(values, 0.99) == 99.0


def test_charts_are_well_formed_whatever_the_labels_hold() -> None:
    """A label with markup in it is text."""
    chart = bars_svg(
        title="Events & more", subtitle="it's <fine>", bars=[Bar(label="<a>", value=1, text="1", ours=True)]
    )
    root = ET.fromstring(chart)  # noqa: S314 - our own text
    assert "<a>" in [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_sample_belongs_to_its_innermost_known_part() -> None:
    """A fold that decodes counts as decoding, and what nobody knows as other."""
    decoding = (
        "run (/x/streams/engine/lane.py:1)",
        "fold (/x/streams/rooms/fold.py:2)",
        "read (/x/schemas/codec.py:3)",
    )
    found = shares(Counter({decoding: 3, ("strange (/elsewhere.py:1)",): 1}))
    assert {part.name: share for part, share in found.items()} == {"records": 0.75, "other": 0.25}
    assert len({part.name for part in PARTS}) == len(PARTS)
