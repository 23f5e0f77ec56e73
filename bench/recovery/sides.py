"""Who restores, from what, and how it is started."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.broker import CACHE_DIR
from bench.peers.kafka_streams import kafka_streams_command
from bench.streams.codec import Plain, encode_answer, encode_event, encode_status
from bench.streams.sides import Where
from bench.streams.status import answer_to, status_of
from bench.streams.workload import meeting
from schemas.codec import encode
from schemas.records.tables import Revised

_SET_AT_MS = 1_780_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One contestant."""

    name: str
    title: str
    command: Callable[[Where], Sequence[str]]
    wrap: Callable[[bytes], bytes]
    """From an entry to what the side's changelog holds of it."""

    def changelog(self, keys: int) -> Iterator[tuple[bytes, bytes]]:
        """A record of about 300 bytes for each of so many keys."""
        for number in range(keys):
            event = _event(number)
            yield event["meeting_id"].encode(), self.wrap(encode_status(status_of(event)))


def probes(count: int, *, keys: int) -> Iterator[tuple[bytes, bytes]]:
    """Events older than what is restored: their answers tell what was restored."""
    for number in _probed(count, keys=keys):
        event = _event(number)
        yield event["meeting_id"].encode(), encode_event(_probe(event))


def answers(count: int, *, keys: int) -> Iterator[tuple[bytes, bytes]]:
    """The right answers to the probes."""
    for number in _probed(count, keys=keys):
        event = _event(number)
        answer = answer_to(_probe(event), after=status_of(event), applied=False)
        yield event["meeting_id"].encode(), encode_answer(answer)


def _probed(count: int, *, keys: int) -> range:
    return range(0, keys, max(1, keys // count))


def _event(number: int) -> Plain:
    return {
        "event_id": f"{number:032x}",
        "status": "started",
        "happened_at_ms": _SET_AT_MS + number,
        **meeting(number, seed=1),
    }


def _probe(event: Plain) -> Plain:
    return {**event, "event_id": f"probe-{event['event_id']}", "status": "created", "happened_at_ms": 0}


SIDES: Sequence[Side] = (
    Side(
        name="ours",
        title="Roomkeeper's engine",
        command=lambda where: [sys.executable, "-m", "bench.recovery.ours", *where.arguments()],
        wrap=lambda entry: encode(Revised(generation=0, revision=0, entry=entry)),
    ),
    Side(
        name="kafka_streams",
        title="Kafka Streams 4.1, exactly once",
        command=lambda where: kafka_streams_command(
            where.arguments()[:5], guarantee="exactly_once_v2", cache_dir=CACHE_DIR
        ),
        wrap=lambda entry: entry,
    ),
)
