"""Dead letters for tests: the command line in this process, letters made as a role would make them, and the ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition
from typer.testing import CliRunner

from projectors.projection import Consumed
from roomkeeper.cli import compose
from runtime.environment import environment_of
from runtime.kafka.config import consumer_config
from runtime.kafka.producer import Outgoing
from runtime.postgres import connect
from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS
from schemas.dead_letters import Origin, dead_letter_headers
from schemas.errors import BadMessage, RoomkeeperError
from tests.projecting import PARTITIONS, Tally, produce
from tests.waiting import wait_for

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended."""

    code: int
    lines: Sequence[Mapping[str, Any]]
    text: str


Dlq = Callable[..., Ended]


class Faulty(Tally):
    """A tally that cannot read some values yet; what is repaired can be read from then on."""

    def __init__(self) -> None:
        """Reads everything."""
        self.bad: set[bytes] = set()

    def decode(self, consumed: Consumed) -> int:
        """The number, unless it is one of the bad ones."""
        if consumed.value in self.bad:
            raise BadMessage("not yet understood")
        return super().decode(consumed)


def run_dlq(settings: Settings, *words: str) -> Ended:
    """Run `roomkeeper dlq ...` with these settings in a pipe, to its end."""
    arguments = ["dlq", *words]
    ran = CliRunner().invoke(compose(arguments), arguments, env=dict(environment_of(settings)), prog_name="roomkeeper")
    if isinstance(ran.exception, RoomkeeperError):
        raise ran.exception
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return Ended(code=ran.exit_code, lines=lines, text=ran.stdout)


def dead_letter(settings: Settings, topic: str, *, key: bytes, value: bytes, offset: int, stage: str) -> Outgoing:
    """The dead letter of a record that lay at this offset of the topic's first partition."""
    prefix = settings.kafka.topic_prefix
    headers = dead_letter_headers(
        origin=Origin(topic=prefix + topic, partition=0, offset=offset, timestamp_ms=1_773_136_800_000),
        stage=stage,
        error=BadMessage("not yet understood"),
        failed_at=NOON + timedelta(seconds=offset),
    )
    return Outgoing(topic=prefix + DEAD_LETTERS, key=key, value=value, headers=headers)


def rows_like(settings: Settings, **conditions: Any) -> int:
    """How many rows of the ledger have these values."""
    words = " AND ".join(f"{name} = %({name})s" for name in conditions) or "true"
    with connect(settings.postgres, role="tests") as connection:
        row = connection.execute(f"SELECT count(*) AS n FROM dead_letters WHERE {words}", conditions).fetchone()
        assert row is not None
        return int(row["n"])


def ledger_read(settings: Settings) -> int:
    """How many records of `dead-letters` the ledger has read."""
    with connect(settings.postgres, role="tests") as connection:
        row = connection.execute(
            "SELECT coalesce(sum(next_offset), 0) AS n FROM projector_offsets WHERE projection = 'dead_letters'"
        ).fetchone()
        assert row is not None
        return int(row["n"])


def fail(settings: Settings, faulty: Faulty, values: Sequence[int]) -> None:
    """Make dead letters of these values, and wait until the ledger has them."""
    faulty.bad |= {str(each).encode() for each in values}
    before = rows_like(settings)
    produce(settings, values)
    wait_for(lambda: rows_like(settings) >= before + len(values), what="the dead letters")


def messages(settings: Settings, topic: str, *, at_least: int) -> list[Message]:
    """Everything on a topic."""
    consumer = Consumer(dict(consumer_config(settings.kafka, client_id="tests", group="tests")))
    found: list[Message] = []

    def read() -> bool:
        found.extend(consumer.consume(1_000, 0.5))
        return len(found) >= at_least

    try:
        consumer.assign([TopicPartition(settings.kafka.topic_prefix + topic, each, 0) for each in range(PARTITIONS)])
        wait_for(read, what="the messages")
    finally:
        consumer.close()
    return found
