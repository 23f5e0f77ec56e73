"""`python -m bench.ingress`: load the three servers in turns, count what the broker has, and publish the figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from pydantic import SecretStr
from rich.table import Table

from bench.broker import Broker
from bench.environment import read_environment
from bench.ingress.deliveries import ACCOUNT, SECRET
from bench.ingress.sides import MARK
from bench.process import MeasuredProcess
from bench.report import Figure, middle, progress, publish, ratio, rounded
from roomkeeper.embedded.backing import Backing
from runtime.cipher import new_key
from runtime.environment import environment_for_children
from runtime.settings import Account, EmbeddedSettings, SecuritySettings, Settings, WebhookSecret, load
from runtime.topic_admin import TopicAdmin
from runtime.topics import DEAD_LETTERS, ZOOM_EVENTS, physical
from runtime.topics import load as load_topics
from schemas.errors import Broken

OURS, BARE, HELLO = "roomkeeper", "bare", "hello"
_ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How each server is loaded."""

    connections: int
    warm_up_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round of load found."""

    per_second: float
    p50_ms: float
    p99_ms: float
    acknowledged: int


def main(
    connections: Annotated[int, typer.Option(min=1)] = 64,
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    seconds: Annotated[float, typer.Option(min=1)] = 5.0,
    warm_up_seconds: Annotated[float, typer.Option(min=0)] = 1.5,
) -> None:
    """Measure webhooks acknowledged per second, one process, beside the bare work on the same server."""
    environment = read_environment()
    course = Load(connections=connections, warm_up_seconds=warm_up_seconds, seconds=seconds)
    with _stack() as settings, ExitStack() as servers:
        broker = Broker(str(settings.kafka.bootstrap_servers))
        bare_topic = f"{settings.kafka.topic_prefix}bare"
        broker.create(bare_topic, partitions=load_topics().partitions_of(ZOOM_EVENTS, settings.kafka))
        urls = _start(servers, settings, bare_topic)
        results = _race(urls, course, rounds=rounds)
        kept = _kept(broker, settings, results[OURS])
        broker.remove(broker.topics_with(settings.kafka.topic_prefix))
    figures: dict[str, Figure] = {"connections": connections, "rounds": rounds, "processes": 1, **kept}
    publish("ingress", table=_table(results, connections), figures=figures | _figures(results), environment=environment)


@contextmanager
def _stack() -> Iterator[Settings]:
    """Broker and database for the run, with topics of its own."""
    given = load()
    with tempfile.TemporaryDirectory(prefix="roomkeeper-bench-") as folder:
        embedded = EmbeddedSettings.model_validate({**given.embedded.model_dump(), "data_dir": folder})
        with Backing(given.model_copy(update={"embedded": embedded}), durable=False) as backing:
            kafka = backing.settings.kafka.model_copy(update={"topic_prefix": f"bench-ingress-{os.getpid()}-"})
            secret = WebhookSecret(value=SecretStr(SECRET.decode()))
            settings = backing.settings.model_copy(
                update={
                    "kafka": kafka,
                    "accounts": (Account(account_id=ACCOUNT, webhook_secrets=(secret,)),),
                    "security": SecuritySettings(encryption_keys=(SecretStr(new_key()),)),
                    "ingress": given.ingress.model_copy(update={"port": 0}),
                    "log": given.log.model_copy(update={"format": "json"}),
                }
            )
            admin = TopicAdmin(kafka)
            admin.apply(admin.plan(load_topics()))
            yield settings


def _start(servers: ExitStack, settings: Settings, bare_topic: str) -> Mapping[str, str]:
    """The URL of each side's server."""
    commands = {
        OURS: ["-m", "roomkeeper", "ingress", "run"],
        BARE: ["-m", "bench.ingress.sides", BARE, str(settings.kafka.bootstrap_servers), bare_topic],
        HELLO: ["-m", "bench.ingress.sides", HELLO, str(settings.kafka.bootstrap_servers), bare_topic],
    }
    urls: dict[str, str] = {}
    for side, command in commands.items():
        process = servers.enter_context(
            MeasuredProcess([sys.executable, *command], env=environment_for_children(settings), cwd=_ROOT)
        )
        urls[side] = process.wait_until(lambda: _url(process.marks()), what="its URL", within_seconds=_START_SECONDS)  # noqa: B023 - asked at once
    return urls


def _url(lines: Mapping[str, float]) -> str | None:
    """Where a server says that it listens."""
    for line in lines:
        if line.startswith(MARK):
            return line.removeprefix(MARK)
        if '"ingress.listening"' in line:
            return str(json.loads(line)["url"])
    return None


def _race(urls: Mapping[str, str], course: Load, *, rounds: int) -> Mapping[str, list[Round]]:
    """Every side in turn, round after round, so that what the machine does beside hits all alike."""
    results: dict[str, list[Round]] = {side: [] for side in urls}
    for number in range(1, rounds + 1):
        for side, url in urls.items():
            found = _load(url, course)
            progress(f"round {number} of {rounds}, {side}: {found.per_second:,.0f}/s, p99 {found.p99_ms:.1f} ms")
            results[side].append(found)
    return results


def _load(url: str, course: Load) -> Round:
    address = urlsplit(url)
    arguments = [str(address.hostname), str(address.port), str(course.connections)]
    arguments += [str(course.warm_up_seconds), str(course.seconds)]
    command = [sys.executable, "-m", "bench.ingress.load", *arguments]
    patience = course.warm_up_seconds + course.seconds + _START_SECONDS
    ended = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, check=True, timeout=patience)
    line: dict[str, Any] = json.loads(ended.stdout)
    statuses: dict[str, int] = line["statuses"]
    if set(statuses) != {"204"}:
        raise Broken(f"{url} answered {statuses}")
    return Round(
        per_second=line["per_second"], p50_ms=line["p50_ms"], p99_ms=line["p99_ms"], acknowledged=statuses["204"]
    )


def _kept(broker: Broker, settings: Settings, ours: Sequence[Round]) -> Mapping[str, Figure]:
    """How many records the broker has of those that ours acknowledged.

    Raises:
        Broken: fewer than were acknowledged, or dead letters.
    """
    prefix = settings.kafka.topic_prefix
    acknowledged = sum(each.acknowledged for each in ours)
    kept = sum(broker.end_offsets(physical(ZOOM_EVENTS, prefix=prefix)).values())
    dead = sum(broker.end_offsets(physical(DEAD_LETTERS, prefix=prefix)).values())
    if kept < acknowledged or dead:
        raise Broken(f"{acknowledged} webhooks were acknowledged, {kept} lie in zoom-events, {dead} in dead-letters")
    return {"acknowledged": acknowledged, "in_zoom_events": kept, "in_dead_letters": dead}


def _figures(results: Mapping[str, list[Round]]) -> dict[str, Figure]:
    rates = {side: [each.per_second for each in many] for side, many in results.items()}
    ours = results[OURS]
    return {
        "per_second": rounded(middle(rates[OURS])),
        "p50_ms": rounded(middle([each.p50_ms for each in ours])),
        "p99_ms": rounded(middle([each.p99_ms for each in ours])),
        "bare_per_second": rounded(middle(rates[BARE])),
        "hello_per_second": rounded(middle(rates[HELLO])),
        "ratio_bare": ratio(rates[OURS], rates[BARE]),
        "ratio_hello": ratio(rates[OURS], rates[HELLO]),
    }


def _table(results: Mapping[str, list[Round]], connections: int) -> Table:
    table = Table("side", "per second", "p50 ms", "p99 ms", "of bare", title=f"webhooks, {connections} connections")
    bare = middle([each.per_second for each in results[BARE]])
    for side, many in results.items():
        rate = middle([each.per_second for each in many])
        table.add_row(
            side,
            f"{rate:,.0f}",
            f"{middle([each.p50_ms for each in many]):.1f}",
            f"{middle([each.p99_ms for each in many]):.1f}",
            f"{rate / bare:.2f}",
        )
    return table


if __name__ == "__main__":
    typer.run(main)
