"""`python -m bench.recovery`: restore in turns and publish the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.table import Table

from bench.broker import Broker, bench_broker
from bench.environment import read_environment
from bench.peers.arguments import PREFIX
from bench.recovery.measure import PROBES, Measured, measure, prepare
from bench.recovery.sides import SIDES, Side, probes
from bench.report import Figure, middle, progress, publish, ratio, rounded, run
from runtime.topics import DEAD_LETTERS

Results = Mapping[str, list[Measured]]

_SOURCE = PREFIX + "probes"


def main(
    keys: Annotated[int, typer.Option(min=100)] = 1_000_000,
    partitions: Annotated[int, typer.Option(min=1)] = 8,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    only: Annotated[list[str] | None, typer.Option(help="Name of a side; may be repeated.")] = None,
    bootstrap_servers: Annotated[
        str | None, typer.Option(help="An empty broker to use in place of the bench's own.")
    ] = None,
) -> None:
    """Measure the restore of a table from its changelog on an empty disk."""
    environment = read_environment()
    sides = [side for side in SIDES if not only or side.name in only]
    with bench_broker(bootstrap_servers) as broker:
        broker.create(PREFIX + DEAD_LETTERS, partitions=1)
        broker.create(_SOURCE, partitions=partitions)
        broker.fill(_SOURCE, probes(PROBES, keys=keys))
        results = _race(sides, broker=broker, keys=keys, partitions=partitions, rounds=rounds)
        broker.remove(broker.topics_with(PREFIX))
    figures: dict[str, Figure] = {"keys": keys, "partitions": partitions, "rounds": rounds}
    publish(
        "recovery", table=_table(sides, results, keys), figures=figures | _figures(results), environment=environment
    )


def _race(sides: Sequence[Side], *, broker: Broker, keys: int, partitions: int, rounds: int) -> Results:
    """The sides in turn, round after round; each has one changelog for all of its rounds."""
    results: dict[str, list[Measured]] = {side.name: [] for side in sides}
    app_ids = {side.name: f"{PREFIX}recovery-{side.name.replace('_', '-')}" for side in sides}
    for side in sides:
        progress(f"filling the changelog of {side.title} with {keys:,} records")
        prepare(side, broker=broker, app_id=app_ids[side.name], keys=keys, partitions=partitions)
    for number in range(1, rounds + 1):
        for side in sides:
            measured = measure(
                side, broker=broker, app_id=app_ids[side.name], source=_SOURCE, keys=keys, partitions=partitions
            )
            results[side.name].append(measured)
            progress(f"round {number}: {side.title}: {measured.records_per_s:,.0f} records/s, state is right")
    return results


def _table(sides: Sequence[Side], results: Results, keys: int) -> Table:
    table = Table(title=f"Restore of {keys:,} entries on an empty disk, one process each")
    table.add_column("side")
    for heading in ("records/s", "process ready after s", "MB at half", "MB at the end", "peak MB"):
        table.add_column(heading, justify="right")
    for side in sides:
        rounds = results[side.name]
        table.add_row(
            side.title,
            f"{middle([each.records_per_s for each in rounds]):,.0f}",
            f"{middle([each.ready_seconds for each in rounds]):.1f}",
            f"{middle([each.half_mb for each in rounds]):.0f}",
            f"{middle([each.end_mb for each in rounds]):.0f}",
            f"{middle([each.peak_mb for each in rounds]):.0f}",
        )
    return table


def _figures(results: Results) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for name, rounds in results.items():
        figures[f"{name}_per_s"] = rounded(middle([each.records_per_s for each in rounds]))
        figures[f"{name}_ready_seconds"] = rounded(middle([each.ready_seconds for each in rounds]))
        figures[f"{name}_peak_mb"] = rounded(middle([each.peak_mb for each in rounds]))
        figures[f"{name}_end_over_half_memory"] = rounded(middle([each.end_mb / each.half_mb for each in rounds]))
    speeds = {name: [each.records_per_s for each in rounds] for name, rounds in results.items()}
    figures["ratio_kafka_streams"] = ratio(speeds.get("ours", []), speeds.get("kafka_streams", []))
    return figures


if __name__ == "__main__":
    run(main)
