"""`python -m bench.projector`: both sides in turns, each into an empty database, and publish the figures."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bench.broker import Broker
from bench.database import fresh_database
from bench.environment import read_environment
from bench.process import MeasuredProcess
from bench.projector.bare import Recorder, record, replay, rows_of
from bench.projector.events import room_events
from bench.report import Figure, middle, progress, publish, ratio, rounded, run
from bench.room_events import Record
from roomkeeper.embedded.backing import Backing
from runtime.environment import environment_for_children
from runtime.postgres import connect
from runtime.settings import EmbeddedSettings, Settings, load
from runtime.topic_admin import TopicAdmin
from runtime.topics import ROOM_EVENTS, physical
from runtime.topics import load as load_topics

OURS, BARE = "roomkeeper", "bare"
_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_SECONDS = 600.0


def main(
    events: Annotated[int, typer.Option(min=1000, help="Webhooks from which the records are made.")] = 100_000,
    rooms: Annotated[int, typer.Option(min=1)] = 2_000,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
) -> None:
    """Measure rows written per second by one projector process, beside the bare statements with the same rows."""
    environment = read_environment()
    records = list(room_events(events=events, rooms=rooms))
    with _stack() as settings:
        _fill(settings, records)
        recorded = record(records, batch=settings.projectors.batch_records)
        rows = rows_of(recorded)
        ours: list[float] = []
        bare: list[float] = []
        for number in range(1, rounds + 1):
            bare.append(rows / _bare(settings, recorded))
            ours.append(rows / _ours(settings, len(records)))
            progress(f"round {number} of {rounds}: ours {ours[-1]:,.0f} rows/s, bare {bare[-1]:,.0f} rows/s")
    figures: dict[str, Figure] = {
        "records": len(records),
        "rows": rows,
        "rounds": rounds,
        "rows_per_second": rounded(middle(ours)),
        "records_per_second": rounded(middle(ours) * len(records) / rows),
        "bare_rows_per_second": rounded(middle(bare)),
        "ratio_bare": ratio(ours, bare),
    }
    publish(
        "projector", table=_table(ours, bare, records=len(records), rows=rows), figures=figures, environment=environment
    )


def _bare(settings: Settings, recorded: Sequence[Recorder]) -> float:
    with fresh_database(settings, bench="projector") as alone, connect(alone.postgres, role="bench") as connection:
        return replay(connection, recorded)


def _ours(settings: Settings, records: int) -> float:
    """Seconds from the first record's fetch to the last one's commit."""
    command = [sys.executable, "-m", "roomkeeper", "projectors", "run", "--only", "rooms"]
    with (
        fresh_database(settings, bench="projector") as alone,
        connect(alone.postgres, role="bench", autocommit=True) as connection,
    ):

        def written() -> float | None:
            row = connection.execute("SELECT sum(next_offset) AS total FROM projector_offsets").fetchone()
            return time.monotonic() if row and row["total"] == records else None

        with MeasuredProcess(command, env=environment_for_children(alone), cwd=_ROOT) as process:
            began = process.wait_until(
                lambda: next((at for line, at in process.marks().items() if '"projector.started"' in line), None),
                what="its start",
                within_seconds=_PATIENCE_SECONDS,
            )
            return process.wait_until(written, what="the last row", within_seconds=_PATIENCE_SECONDS) - began


@contextmanager
def _stack() -> Iterator[Settings]:
    """Broker and database for the run, with topics of its own."""
    given = load()
    with tempfile.TemporaryDirectory(prefix="roomkeeper-bench-") as folder:
        embedded = EmbeddedSettings.model_validate({**given.embedded.model_dump(), "data_dir": folder})
        with Backing(given.model_copy(update={"embedded": embedded}), durable=False) as backing:
            kafka = backing.settings.kafka.model_copy(update={"topic_prefix": f"bench-projector-{os.getpid()}-"})
            log = given.log.model_copy(update={"format": "json"})
            settings = backing.settings.model_copy(update={"kafka": kafka, "log": log})
            catalogue, admin = load_topics(), TopicAdmin(kafka)
            admin.apply(admin.plan(catalogue, catalogue.used_by("projectors")))
            yield settings
            broker = Broker(str(kafka.bootstrap_servers))
            broker.remove(broker.topics_with(kafka.topic_prefix))


def _fill(settings: Settings, records: Sequence[Record]) -> None:
    topic = physical(ROOM_EVENTS, prefix=settings.kafka.topic_prefix)
    Broker(str(settings.kafka.bootstrap_servers)).fill(topic, iter(records))


def _table(ours: Sequence[float], bare: Sequence[float], *, records: int, rows: int) -> Table:
    table = Table("side", "rows/s", "records/s", "of bare", title=f"{records:,} records, {rows:,} rows into PostgreSQL")
    for side, rates in ((OURS, ours), (BARE, bare)):
        rate = middle(rates)
        table.add_row(side, f"{rate:,.0f}", f"{rate * records / rows:,.0f}", f"{rate / middle(bare):.2f}")
    return table


if __name__ == "__main__":
    run(main)
