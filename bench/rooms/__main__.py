"""`python -m bench.rooms`: our room worker, procrastinate and pgqueuer in turns, each with an empty database."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bench.broker import Broker
from bench.database import fresh_database
from bench.environment import read_environment
from bench.peers.environments import peer_python
from bench.process import MeasuredProcess
from bench.report import Figure, middle, percentile, progress, publish, ratio, rounded, run
from bench.rooms.appearing import seconds_to_call
from bench.rooms.requests import created, project
from roomkeeper.embedded.backing import Backing
from runtime.clock import SystemClock
from runtime.environment import environment_for_children
from runtime.logs import configure
from runtime.postgres import connect
from runtime.settings import EmbeddedSettings, LogSettings, Settings, load
from runtime.topic_admin import TopicAdmin
from runtime.topics import load as load_topics

OURS, EMPTY, PEERS = "roomkeeper", "roomkeeper, empty jobs", ("procrastinate", "pgqueuer")
_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_SECONDS = 300.0
_LEASE_SECONDS = 5.0
_TAKEN_UP = "SELECT count(*) AS rows FROM room_requests WHERE settled_at IS NOT NULL OR epoch > %s"


def main(
    jobs: Annotated[int, typer.Option(min=100, help="Of each side and round.")] = 10_000,
    concurrency: Annotated[int, typer.Option(min=1, max=50, help="Of each side.")] = 50,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    appearing: Annotated[int, typer.Option(min=50, help="Requests whose way to their call is timed.")] = 1_000,
) -> None:
    """Measure requests claimed and settled per second, the way from appearance to call, and take-up after a death."""
    environment = read_environment()
    configure(LogSettings(level="WARNING"), role="bench", clock=SystemClock())
    python = peer_python("queues", load().embedded.cache_dir.expanduser())
    rates: dict[str, list[float]] = {name: [] for name in (OURS, EMPTY, *PEERS)}
    with _stack(concurrency) as settings:
        for number in range(1, rounds + 1):
            for name in PEERS:
                command = [str(python), "-m", f"bench.peers.queues.{name}_side"]
                rates[name].append(jobs / _seconds_of_peer(settings, command, jobs=jobs, concurrency=concurrency))
            rates[OURS].append(jobs / _seconds_of_ours(settings, jobs=jobs))
            rates[EMPTY].append(jobs / _seconds_of_ours(settings, "--empty", jobs=jobs))
            shown = ", ".join(f"{name} {found[-1]:,.0f}/s" for name, found in rates.items())
            progress(f"round {number} of {rounds}: {shown}")
        with fresh_database(settings, bench="rooms") as own:
            waits = sorted(asyncio.run(seconds_to_call(own, requests=appearing)))
        with fresh_database(settings, bench="rooms") as own:
            taken_up = _seconds_to_take_up(own, jobs=concurrency)
    better = max((rates[name] for name in PEERS), key=middle)
    figures: dict[str, Figure] = {
        "jobs": jobs,
        "concurrency": concurrency,
        "rounds": rounds,
        "requests_per_second": rounded(middle(rates[OURS])),
        "empty_per_second": rounded(middle(rates[EMPTY])),
        **{f"{name}_per_second": rounded(middle(rates[name])) for name in PEERS},
        "ratio_better_peer": ratio(rates[OURS], better),
        "ratio_empty_better_peer": ratio(rates[EMPTY], better),
        "to_call_p50_ms": rounded(1_000 * percentile(waits, 0.5)),
        "to_call_p99_ms": rounded(1_000 * percentile(waits, 0.99)),
        "lease_seconds": _LEASE_SECONDS,
        "taken_up_after_lease_seconds": rounded(taken_up - _LEASE_SECONDS),
    }
    publish("rooms", table=_table(rates, figures), figures=figures, environment=environment)


def _seconds_of_peer(settings: Settings, command: Sequence[str], *, jobs: int, concurrency: int) -> float:
    with fresh_database(settings, bench="rooms") as own:
        dsn = own.postgres.dsn.get_secret_value() if own.postgres.dsn else ""
        return _seconds([*command, dsn, str(jobs), str(concurrency)], env=dict(os.environ))


def _seconds_of_ours(settings: Settings, *options: str, jobs: int) -> float:
    with (
        fresh_database(settings, bench="rooms") as own,
        connect(own.postgres, role="bench", autocommit=True) as connection,
    ):
        project(connection, created(jobs))
        return _seconds([sys.executable, "-m", "bench.rooms.side", *options], env=environment_for_children(own))


def _seconds(command: Sequence[str], *, env: Mapping[str, str]) -> float:
    with MeasuredProcess(command, env=env, cwd=_ROOT) as process:
        began = process.wait_for_mark("begin", within_seconds=_PATIENCE_SECONDS)
        return process.wait_for_mark("end", within_seconds=_PATIENCE_SECONDS) - began


def _seconds_to_take_up(settings: Settings, *, jobs: int) -> float:
    """From the death of a worker that has everything in hand until another has taken up the last of it."""
    side = [sys.executable, "-m", "bench.rooms.side"]
    rooms = settings.rooms.model_copy(update={"lease_seconds": _LEASE_SECONDS})
    env = environment_for_children(settings.model_copy(update={"rooms": rooms}))
    with connect(settings.postgres, role="bench", autocommit=True) as connection:
        project(connection, created(jobs))
        with MeasuredProcess([*side, "--hang"], env=env, cwd=_ROOT) as dying:
            dying.wait_for_mark("called", within_seconds=_PATIENCE_SECONDS)
            with MeasuredProcess(side, env=env, cwd=_ROOT) as heir:
                heir.wait_for_mark("begin", within_seconds=_PATIENCE_SECONDS)
                row = connection.execute("SELECT max(epoch) AS epoch FROM room_requests").fetchone()
                os.kill(dying.pid, 9)
                died = time.monotonic()

                def all_taken_up() -> float | None:
                    found = connection.execute(_TAKEN_UP, (row["epoch"] if row else 0,)).fetchone()
                    return time.monotonic() if found and found["rows"] == jobs else None

                return heir.wait_until(all_taken_up, what="the take-up", within_seconds=_PATIENCE_SECONDS) - died


@contextmanager
def _stack(concurrency: int) -> Iterator[Settings]:
    """Broker and database for the run, with topics of its own."""
    given = load()
    with tempfile.TemporaryDirectory(prefix="roomkeeper-bench-") as folder:
        embedded = EmbeddedSettings.model_validate({**given.embedded.model_dump(), "data_dir": folder})
        with Backing(given.model_copy(update={"embedded": embedded}), durable=False) as backing:
            kafka = backing.settings.kafka.model_copy(update={"topic_prefix": f"bench-rooms-{os.getpid()}-"})
            rooms = given.rooms.model_copy(update={"concurrency": concurrency})
            quiet = LogSettings(level="WARNING", format="json")
            settings = backing.settings.model_copy(update={"kafka": kafka, "rooms": rooms, "log": quiet})
            catalogue, admin = load_topics(), TopicAdmin(kafka)
            admin.apply(admin.plan(catalogue, catalogue.used_by("room-worker")))
            yield settings
            broker = Broker(str(kafka.bootstrap_servers))
            broker.remove(broker.topics_with(kafka.topic_prefix))


def _table(rates: Mapping[str, Sequence[float]], figures: Mapping[str, Figure]) -> Table:
    title = f"{figures['jobs']:,} requests, {figures['concurrency']} at once, a provider that answers at once"
    table = Table("side", "requests/s", "of ours", title=title)
    for name, found in rates.items():
        table.add_row(name, f"{middle(found):,.0f}", f"{middle(found) / middle(rates[OURS]):.2f}")
    table.caption = (
        f"from appearance to call: p50 {figures['to_call_p50_ms']} ms, p99 {figures['to_call_p99_ms']} ms; "
        f"a dead worker's work is taken up {figures['taken_up_after_lease_seconds']} s after its lease's length"
    )
    return table


if __name__ == "__main__":
    run(main)
