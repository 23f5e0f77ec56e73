"""Who takes part: how each side is started, what it guarantees, and how its changelog is to be read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.broker import CACHE_DIR
from bench.peers.arguments import PREFIX
from bench.peers.environments import peer_python
from bench.peers.kafka_streams import Guarantee, kafka_streams_command
from bench.streams.codec import encode_status
from bench.streams.courses import Prepare, beginning_course, rooms_course, status_course
from bench.streams.status import TABLE
from runtime.topics import ROOM_EVENTS
from schemas.codec import decode
from schemas.records.tables import Revised
from streams.rooms.fold import RoomsFold

State = tuple[str, bytes]
"""Key and entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where a side reads, folds and writes in one round."""

    bootstrap_servers: str
    app_id: str
    source: str
    output: str
    state_dir: Path
    partitions: int

    def arguments(self) -> list[str]:
        """In the order that `bench.peers.arguments` reads them."""
        return [
            self.bootstrap_servers,
            self.app_id,
            self.source,
            self.output,
            str(self.state_dir),
            str(self.partitions),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One contestant."""

    name: str
    title: str
    guarantee: str
    """What a `read_committed` reader of its outputs may see after a crash."""
    command: Callable[[Where], Sequence[str]]
    read_state: Callable[[bytes, bytes], State]
    """What a record of its changelog, key and value, says."""
    course: Prepare = status_course
    output: str | None = None
    """Its output topic, where it is always the same one."""
    table: str | None = None
    """Of a side which wants its changelog made for it."""


def _python(
    module: str, *, python: Callable[[], Path] = lambda: Path(sys.executable)
) -> Callable[[Where], Sequence[str]]:
    return lambda where: [str(python()), "-m", module, *where.arguments()]


def _kafka_streams(guarantee: Guarantee) -> Callable[[Where], Sequence[str]]:
    return lambda where: kafka_streams_command(where.arguments()[:5], guarantee=guarantee, cache_dir=CACHE_DIR)


def _revised(key: bytes, value: bytes) -> State:
    return key.decode(), decode(value, Revised).entry


def _plain(key: bytes, value: bytes) -> State:
    return key.decode(), value


def _faust(key: bytes, value: bytes) -> State:
    return json.loads(key), encode_status(json.loads(value))


def _quix(key: bytes, value: bytes) -> State:
    meeting, _, _ = key.partition(b"|")
    return json.loads(meeting), encode_status(json.loads(value))


SIDES: Sequence[Side] = (
    Side(
        name="ours",
        title="Roomkeeper's engine",
        guarantee="exactly once: outputs, changelog and offsets in one transaction",
        command=_python("bench.streams.ours"),
        read_state=_revised,
        table=TABLE,
    ),
    Side(
        name="own_fold",
        title="Roomkeeper's engine and its fold of rooms",
        guarantee="exactly once: outputs, changelog and offsets in one transaction",
        command=_python("bench.streams.own_fold"),
        read_state=_revised,
        course=rooms_course,
        output=PREFIX + ROOM_EVENTS,
        table=RoomsFold.table,
    ),
    Side(
        name="quix",
        title="Quix Streams 3.28",
        guarantee="at least once (its default): outputs may come twice",
        command=_python("bench.peers.quix.app", python=lambda: peer_python("quix", CACHE_DIR)),
        read_state=_quix,
    ),
    Side(
        name="kafka_streams",
        title="Kafka Streams 4.1, at least once",
        guarantee="at least once (its default): outputs may come twice",
        command=_kafka_streams("at_least_once"),
        read_state=_plain,
    ),
    Side(
        name="kafka_streams_eos",
        title="Kafka Streams 4.1, exactly once",
        guarantee="exactly once: outputs, changelog and offsets in one transaction",
        command=_kafka_streams("exactly_once_v2"),
        read_state=_plain,
    ),
    Side(
        name="faust",
        title="Faust 0.15 as its manual shows it",
        guarantee="at least once, but may lose state and skip events after a crash",
        command=_python("bench.peers.faust.app"),
        read_state=_faust,
        course=beginning_course,
    ),
    Side(
        name="bare",
        title="Bare confluent-kafka and rocksdict loop",
        guarantee="at least once, no framework: a ceiling, not a product",
        command=_python("bench.peers.bare"),
        read_state=_plain,
        table=TABLE,
    ),
)
OURS = ("ours", "own_fold")
"""Names of the sides that are Roomkeeper's."""
