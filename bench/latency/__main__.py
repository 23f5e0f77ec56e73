"""`python -m bench.latency`: run a whole Roomkeeper, post webhooks at steady rates, watch for their rows, publish."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

import typer
import uvloop
from psycopg.rows import dict_row
from pydantic import SecretStr
from rich.console import Group
from rich.table import Table

from bench.environment import read_environment
from bench.latency.deliveries import SECRET, Deliveries
from bench.latency.load import Load
from bench.latency.reader import POLL_SECONDS, Reader
from bench.latency.usage import cpu_seconds_by_process
from bench.report import Figure, middle, percentile, progress, publish, rounded, run
from bench.room_events import ACCOUNT
from roomkeeper.local.stack import Stack
from runtime.clock import SystemClock
from runtime.postgres import AsyncConnection, conninfo
from runtime.settings import Account, EmbeddedSettings, LogSettings, Settings, WebhookSecret
from schemas.errors import Broken

Results = Mapping[int, list["Measured"]]

_WATCHED_A_SECOND = 50
"""Of a faster load only every so manieth row is watched: the reader is not to be the load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One round at one rate."""

    readable_p50_ms: float
    readable_p99_ms: float
    acknowledged_p99_ms: float
    refused: int
    """Answers of 503; each delivery was posted again until it was acknowledged, and its time went on."""
    cores: Mapping[str, float]
    """By process, how many cores it kept busy."""


def main(
    rate: Annotated[list[int], typer.Option(help="Webhooks a second; may be repeated.")] = [100, 1_000],  # noqa: B006 - typer copies it
    seconds: Annotated[float, typer.Option(min=1)] = 20.0,
    warm_up_seconds: Annotated[float, typer.Option(min=0)] = 5.0,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
) -> None:
    """Measure the time from a webhook posted to its row readable."""
    environment = read_environment()
    with _stack() as stack:
        results = uvloop.run(_race(stack, rates=rate, seconds=seconds, warm_up_seconds=warm_up_seconds, rounds=rounds))
    figures: dict[str, Figure] = {"seconds": seconds, "rounds": rounds, "reader_poll_ms": POLL_SECONDS * 1000}
    publish(
        "latency",
        table=Group(_table(results), _cores(results)),
        figures=figures | _figures(results),
        environment=environment,
    )


@contextmanager
def _stack() -> Iterator[Stack]:
    """Broker, database and one process of each role."""
    account = Account(account_id=ACCOUNT, webhook_secrets=(WebhookSecret(value=SecretStr(SECRET)),))
    lines: list[str] = []
    with tempfile.TemporaryDirectory(prefix="roomkeeper-bench-") as folder:
        settings = Settings(
            accounts=(account,),
            embedded=EmbeddedSettings.model_validate({"data_dir": folder}),
            log=LogSettings(level="WARNING"),
        )
        with Stack(settings, sink=lambda name, line: lines.append(f"{name}: {line}")) as stack:
            try:
                yield stack
            except Broken as error:
                raise Broken("\n  | ".join([str(error), *lines[-20:]])) from error


async def _race(stack: Stack, *, rates: Sequence[int], seconds: float, warm_up_seconds: float, rounds: int) -> Results:
    """The rates in turn, round after round."""
    results: dict[int, list[Measured]] = {rate: [] for rate in rates}
    address = urlsplit(stack.addresses.ingress)
    load = Load(Deliveries(SystemClock()), host=address.hostname or "", port=address.port or 0)
    async with _reader(stack.settings) as reader:
        await load.open()
        await _measure(stack, load, reader, rate=min(rates), seconds=warm_up_seconds)
        for number in range(1, rounds + 1):
            for rate in rates:
                measured = await _measure(stack, load, reader, rate=rate, seconds=seconds)
                results[rate].append(measured)
                progress(f"round {number}: {rate}/s: p99 {measured.readable_p99_ms:.0f} ms")
        rows = await reader.rows(wanted=load.posted)
        if rows != load.posted:
            raise Broken(f"{load.posted} deliveries were acknowledged, and made {rows} rows")
        await load.close()
    return results


async def _measure(stack: Stack, load: Load, reader: Reader, *, rate: int, seconds: float) -> Measured:
    every = max(1, rate // _WATCHED_A_SECOND)
    refused, before, began = load.refused, cpu_seconds_by_process(stack), time.monotonic()
    posts = await load.run(
        rate=rate,
        seconds=seconds,
        due=lambda number, row, due_at: reader.expect(row, due_at) if number % every == 0 else None,
    )
    readable = sorted(await reader.seen())
    took = time.monotonic() - began
    after = cpu_seconds_by_process(stack)
    acknowledged = sorted(post.acknowledged_at - post.due_at for post in posts)
    return Measured(
        readable_p50_ms=percentile(readable, 0.50) * 1000,
        readable_p99_ms=percentile(readable, 0.99) * 1000,
        acknowledged_p99_ms=percentile(acknowledged, 0.99) * 1000,
        refused=load.refused - refused,
        cores={name: (after[name] - seconds_before) / took for name, seconds_before in before.items() if name in after},
    )


@asynccontextmanager
async def _reader(settings: Settings) -> AsyncIterator[Reader]:
    """A reader that looks while the block lasts."""
    connection = await AsyncConnection.connect(conninfo(settings.postgres), autocommit=True, row_factory=dict_row)
    async with connection:
        reader = Reader(connection)
        looking = asyncio.create_task(reader.look())
        try:
            yield reader
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking


def _table(results: Results) -> Table:
    table = Table(title="Webhook posted to row readable, one process of each role")
    for heading in ("webhooks/s", "p50 ms", "p99 ms", "p99 of each round", "p99 ms of the 204"):
        table.add_column(heading, justify="right")
    for rate, rounds in results.items():
        table.add_row(
            f"{rate:,}",
            f"{_over(rounds, lambda each: each.readable_p50_ms):.0f}",
            f"{_over(rounds, lambda each: each.readable_p99_ms):.0f}",
            " ".join(f"{each.readable_p99_ms:.0f}" for each in rounds),
            f"{_over(rounds, lambda each: each.acknowledged_p99_ms):.1f}",
        )
    return table


def _cores(results: Results) -> Table:
    table = Table(title="Cores kept busy, the median over the rounds")
    table.add_column("process")
    for rate in results:
        table.add_column(f"at {rate:,}/s", justify="right")
    for name in next(iter(results.values()))[0].cores:
        table.add_row(name, *(f"{_busy(rounds, name):.2f}" for rounds in results.values()))
    return table


def _busy(rounds: Sequence[Measured], name: str) -> float:
    return _over(rounds, lambda each: each.cores.get(name, 0.0))


def _figures(results: Results) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for rate, rounds in results.items():
        figures[f"readable_p50_ms_at_{rate}"] = rounded(_over(rounds, lambda each: each.readable_p50_ms))
        figures[f"readable_p99_ms_at_{rate}"] = rounded(_over(rounds, lambda each: each.readable_p99_ms))
        figures[f"refused_at_{rate}"] = sum(each.refused for each in rounds)
        figures[f"acknowledged_p99_ms_at_{rate}"] = rounded(_over(rounds, lambda each: each.acknowledged_p99_ms))
        for name in rounds[0].cores:
            figures[f"{name.replace(' ', '_')}_cores_at_{rate}"] = rounded(_busy(rounds, name))
    return figures


def _over(rounds: Sequence[Measured], figure: Callable[[Measured], float]) -> float:
    return middle([figure(each) for each in rounds])


if __name__ == "__main__":
    run(main)
