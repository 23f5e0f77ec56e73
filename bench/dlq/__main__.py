"""`python -m bench.dlq`: fill the topic, let the ledger read it, ask it, and put all of it back."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from psycopg import sql
from rich.table import Table

from bench.broker import Broker
from bench.dlq.letters import fill
from bench.environment import read_environment
from bench.process import MeasuredProcess
from bench.report import Figure, progress, publish, rounded, run
from roomkeeper.embedded.backing import Backing
from roomkeeper.embedded.process import LeashedProcess
from runtime.environment import environment_for_children
from runtime.migrate import migrate
from runtime.postgres import connect
from runtime.settings import EmbeddedSettings, Settings, load
from runtime.topic_admin import TopicAdmin
from runtime.topics import ZOOM_EVENTS, physical
from runtime.topics import load as load_topics
from schemas.errors import Broken
from tests.stack import at_database

_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_SECONDS = 1800.0
_LOOK_SECONDS = 0.2
_MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one command took."""

    seconds: float
    half_mib: float
    """Resident memory when half of the time had passed."""
    peak_mib: float


def main(letters: Annotated[int, typer.Option(min=1000)] = 1_000_000) -> None:
    """Measure the ledger, `stats`, `list` and `replay` over many dead letters."""
    environment = read_environment()
    with _stack() as settings:
        progress(f"filling dead-letters with {letters:,}")
        fill(settings, letters)
        ledger_seconds = _ledger(settings, letters)
        progress(f"the ledger has them after {ledger_seconds:.0f} s")
        commands = {
            "stats": _command(settings, "stats"),
            "list": _command(settings, "list", "--limit", "0"),
            "replay": _command(settings, "replay", "--yes", "--job", "bench"),
        }
        sent = sum(Broker(str(settings.kafka.bootstrap_servers)).end_offsets(_target(settings)).values())
    if sent != letters:
        raise Broken(f"{letters} dead letters were replayed, {sent} messages lie in zoom-events")
    figures: dict[str, Figure] = {
        "letters": letters,
        "ledger_per_s": rounded(letters / ledger_seconds),
        "replayed_per_s": rounded(letters / commands["replay"].seconds),
        "listed_per_s": rounded(letters / commands["list"].seconds),
        "stats_seconds": rounded(commands["stats"].seconds),
        "replay_half_mib": rounded(commands["replay"].half_mib),
        "replay_peak_mib": rounded(commands["replay"].peak_mib),
        "list_half_mib": rounded(commands["list"].half_mib),
        "list_peak_mib": rounded(commands["list"].peak_mib),
    }
    publish("dlq", table=_table(commands, letters, ledger_seconds), figures=figures, environment=environment)


def _ledger(settings: Settings, letters: int) -> float:
    """Seconds that a projector takes to read all of them into the ledger."""
    command = [sys.executable, "-m", "roomkeeper", "projectors", "run", "--only", "dead_letters"]
    query = "SELECT sum(next_offset) AS total FROM projector_offsets WHERE projection = 'dead_letters'"
    with connect(settings.postgres, role="bench", autocommit=True) as connection:

        def known() -> float | None:
            row = connection.execute(query).fetchone()
            return time.monotonic() if row and row["total"] == letters else None

        with MeasuredProcess(command, env=environment_for_children(settings), cwd=_ROOT) as process:
            began = process.wait_until(
                lambda: next((at for line, at in process.marks().items() if '"projector.started"' in line), None),
                what="its start",
                within_seconds=_PATIENCE_SECONDS,
            )
            ended = process.wait_until(
                known, what="the last row", within_seconds=_PATIENCE_SECONDS, every_seconds=_LOOK_SECONDS
            )
        connection.execute("ANALYZE dead_letters")
    return ended - began


def _command(settings: Settings, *words: str) -> Measured:
    """One command, from its start to its end, Python's own start included."""
    progress(f"roomkeeper dlq {' '.join(words)}")
    command = [sys.executable, "-m", "roomkeeper", "dlq", *words]
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = LeashedProcess(command, output=output, env=environment_for_children(settings), cwd=_ROOT)
        seen = [0]
        while (code := process.exit_code()) is None:
            seen.append(_resident_bytes(process.pid))
            process.wait(0.05)
        seconds = time.monotonic() - began
        if code != 0:
            output.seek(0)
            raise Broken(f"dlq {words[0]} ended with {code}: {output.read()[-2_000:].decode(errors='replace')}")
    return Measured(seconds=seconds, half_mib=seen[len(seen) // 2] / _MIB, peak_mib=max(seen) / _MIB)


def _resident_bytes(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _stack() -> Iterator[Settings]:
    """Broker and database for the run, with topics and an empty database of its own."""
    given = load()
    with tempfile.TemporaryDirectory(prefix="roomkeeper-bench-") as folder:
        embedded = EmbeddedSettings.model_validate({**given.embedded.model_dump(), "data_dir": folder})
        with Backing(given.model_copy(update={"embedded": embedded}), durable=False) as backing:
            kafka = backing.settings.kafka.model_copy(update={"topic_prefix": f"bench-dlq-{os.getpid()}-"})
            log = given.log.model_copy(update={"format": "json"})
            database = f"bench_dlq_{os.getpid()}"
            postgres = at_database(backing.settings.postgres, database)
            admin = TopicAdmin(kafka)
            admin.apply(admin.plan(load_topics()))
            with connect(backing.settings.postgres, role="bench", autocommit=True) as connection:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
                migrate(postgres)
                yield backing.settings.model_copy(update={"kafka": kafka, "postgres": postgres, "log": log})
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))
            broker = Broker(str(kafka.bootstrap_servers))
            broker.remove(broker.topics_with(kafka.topic_prefix))


def _target(settings: Settings) -> str:
    return physical(ZOOM_EVENTS, prefix=settings.kafka.topic_prefix)


def _table(commands: Mapping[str, Measured], letters: int, ledger_seconds: float) -> Table:
    table = Table("what", "seconds", "per second", "MiB at half", "peak MiB", title=f"{letters:,} dead letters")
    table.add_row("into the ledger", f"{ledger_seconds:.1f}", f"{letters / ledger_seconds:,.0f}", "", "")
    for name, each in commands.items():
        sizes = (f"{each.half_mib:.0f}", f"{each.peak_mib:.0f}")
        table.add_row(f"dlq {name}", f"{each.seconds:.1f}", f"{letters / each.seconds:,.0f}", *sizes)
    return table


if __name__ == "__main__":
    run(main)
