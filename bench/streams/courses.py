"""What is run, and what must come of it: a source topic that is full, every output, and the final state.

Both are worked out here in plain Python, without an engine, so that no side can be fast by being wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from bench import room_events
from bench.broker import Broker
from bench.streams.codec import encode_answer, encode_event, encode_status
from bench.streams.workload import Workload, expect
from schemas.rooms.entry import Entry
from streams.fold import Input
from streams.rooms.fold import RoomsFold


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One source topic and what a correct fold makes of it."""

    source: str
    partitions: int
    events: int
    outputs: frozenset[bytes]
    """Digest of each output's key and value; no two are alike."""
    state: Mapping[str, bytes]
    """Final entries by key."""


Prepare = Callable[[Broker, Workload, int], Course]


def digest(key: bytes, value: bytes) -> bytes:
    """Stands for an output."""
    return blake2b(b"%d|%b%b" % (len(key), key, value), digest_size=16).digest()


def status_course(broker: Broker, workload: Workload, partitions: int) -> Course:
    """The simple fold: last status by event time."""
    return _status_course(broker, workload, partitions, source="bench-events")


def beginning_course(broker: Broker, workload: Workload, partitions: int) -> Course:
    """The same, over the first events alone."""
    return _status_course(broker, workload.beginning, partitions, source="bench-events-beginning")


def _status_course(broker: Broker, workload: Workload, partitions: int, *, source: str) -> Course:
    broker.create(source, partitions=partitions)
    broker.fill(source, ((event["meeting_id"].encode(), encode_event(event)) for event in workload))
    expected = expect(workload)
    answers = ((each["meeting_id"].encode(), encode_answer(each)) for each in expected.answers.values())
    return Course(
        source=source,
        partitions=partitions,
        events=workload.events,
        outputs=frozenset(digest(key, value) for key, value in answers),
        state={key: encode_status(status) for key, status in expected.statuses.items()},
    )


def rooms_course(broker: Broker, workload: Workload, partitions: int) -> Course:
    """The product's own fold over as many webhooks of as many rooms."""
    source = f"bench-{RoomsFold.source}"
    broker.create(source, partitions=partitions)
    broker.fill(source, room_events.mixed(events=workload.events, rooms=workload.meetings, seed=workload.seed))
    fold = RoomsFold()
    state: dict[str, Entry] = {}
    outputs: set[bytes] = set()
    for record in _inputs(broker, source):
        folded = fold.fold(record, state.get, generation=0)
        state.update(folded.entries)
        outputs.update(digest(each.key.encode(), each.value) for each in folded.outputs)
    return Course(
        source=source,
        partitions=partitions,
        events=workload.events,
        outputs=frozenset(outputs),
        state={key: fold.encode(entry) for key, entry in state.items()},
    )


def _inputs(broker: Broker, source: str) -> Iterator[Input]:
    for message in broker.messages(source):
        yield Input(
            topic=source,
            partition=message.partition() or 0,
            offset=message.offset() or 0,
            timestamp_ms=message.timestamp()[1],
            key=(message.key() or b"").decode(),
            value=message.value() or b"",
        )
