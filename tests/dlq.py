"""Dead letters for tests: the command line in this process, letters made as a role would make them, and the ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from typer.testing import CliRunner

from roomkeeper.cli import compose
from runtime.environment import environment_of
from runtime.kafka.producer import Outgoing
from runtime.postgres import connect
from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS
from schemas.dead_letters import Origin, dead_letter_headers
from schemas.errors import BadMessage, RoomkeeperError

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended."""

    code: int
    lines: Sequence[Mapping[str, Any]]
    text: str


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
