"""`python -m bench.growth`: grow the tables, time the events in turns, and publish the figures."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bench.broker import bench_broker
from bench.environment import read_environment
from bench.growth.cases import Case, Connections, Rooms
from bench.growth.measure import Grown, grown
from bench.report import Figure, middle, progress, publish, rounded, run

Results = Mapping[str, list[float]]

_WARM_UP_EVENTS = 1_000


def main(
    events: Annotated[int, typer.Option(min=1, help="Timed events of a round.")] = 20_000,
    rooms: Annotated[list[int], typer.Option(help="Size of a table; may be repeated.")] = [1_000, 100_000, 1_000_000],  # noqa: B006 - typer copies it
    connections: Annotated[list[int], typer.Option(help="The same, within one meeting.")] = [10, 1_000, 50_000],  # noqa: B006 - the same
    partitions: Annotated[int, typer.Option(min=1)] = 8,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    bootstrap_servers: Annotated[
        str | None, typer.Option(help="An empty broker to use in place of the bench's own.")
    ] = None,
) -> None:
    """Measure events per second over tables of growing size."""
    environment = read_environment()
    families: Sequence[Sequence[Case]] = (
        [Rooms(size=size) for size in sorted(rooms)],
        [Connections(size=size) for size in sorted(connections)],
    )
    with (
        bench_broker(bootstrap_servers) as broker,
        tempfile.TemporaryDirectory(prefix="roomkeeper-bench-state-") as disk,
    ):
        cases = [
            grown(case, broker=broker, folder=Path(disk), partitions=partitions)
            for family in families
            for case in family
        ]
        results = _race(cases, events=events, rounds=rounds)
    figures: dict[str, Figure] = {"events": events, "partitions": partitions, "rounds": rounds}
    publish(
        "growth",
        table=_table(families, results),
        figures=figures | _figures(families, results),
        environment=environment,
    )


def _race(cases: Sequence[Grown], *, events: int, rounds: int) -> Results:
    """Make and restore every table, then time them in turn, round after round."""
    results: dict[str, list[float]] = {each.case.name: [] for each in cases}
    for each in cases:
        progress(f"{each.case.name}: making the table")
        each.make()
        each.fold(each.case.events(_WARM_UP_EVENTS, number=0))
    for number in range(1, rounds + 1):
        for each in cases:
            speed = each.fold(each.case.events(events, number=number))
            results[each.case.name].append(speed)
            progress(f"round {number}: {each.case.name}: {speed:,.0f} events/s")
    for each in cases:
        each.check()
    return results


def _table(families: Sequence[Sequence[Case]], results: Results) -> Table:
    table = Table(title="Events per second as the table grows, one process, exactly once")
    table.add_column("table")
    for heading in ("events/s", "lowest to highest", "of the smallest"):
        table.add_column(heading, justify="right")
    for family in families:
        for case in family:
            speeds = results[case.name]
            kept = middle(speeds) / middle(results[family[0].name])
            title = f"{case.size:,} meetings" if isinstance(case, Rooms) else f"one meeting, {case.size:,} connections"
            table.add_row(title, f"{middle(speeds):,.0f}", f"{min(speeds):,.0f} to {max(speeds):,.0f}", f"{kept:.2f}")
        table.add_section()
    return table


def _figures(families: Sequence[Sequence[Case]], results: Results) -> dict[str, Figure]:
    figures: dict[str, Figure] = {f"{name}_per_s": rounded(middle(speeds)) for name, speeds in results.items()}
    for name, family in zip(("ratio_meetings", "ratio_connections"), families, strict=True):
        if family:
            figures[name] = rounded(middle(results[family[-1].name]) / middle(results[family[0].name]))
    return figures


if __name__ == "__main__":
    run(main)
