"""`python -m bench.streams`: run the sides in turns and publish the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bench.broker import Broker, bench_broker
from bench.chart import Bar, write_bars
from bench.environment import read_environment
from bench.peers.arguments import PREFIX
from bench.report import Figure, middle, progress, publish, ratio, rounded, run
from bench.streams.courses import Course, Prepare
from bench.streams.measure import ROOT, Measured, measure
from bench.streams.sides import OURS, SIDES, Side
from bench.streams.workload import Workload
from runtime.topics import DEAD_LETTERS

Results = Mapping[str, list[Measured]]

EVENTS = 300_000
CHART = ROOT / "docs" / "streams.svg"


def main(
    events: Annotated[int, typer.Option(min=1)] = EVENTS,
    meetings: Annotated[int, typer.Option(min=1)] = 2_000,
    partitions: Annotated[int, typer.Option(min=1)] = 8,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    slow_events: Annotated[
        int, typer.Option(min=1, help="So many of the events, the first, for stock Faust, which takes minutes for all.")
    ] = 30_000,
    only: Annotated[list[str] | None, typer.Option(help="Name of a side; may be repeated.")] = None,
    chart: Annotated[Path, typer.Option(help="An SVG file to write when the run is whole.")] = CHART,
    bootstrap_servers: Annotated[
        str | None, typer.Option(help="An empty broker to use in place of the bench's own.")
    ] = None,
) -> None:
    """Measure events per second through the same stateful fold."""
    environment = read_environment()
    sides = [side for side in SIDES if not only or side.name in only]
    workload = Workload(events=events, meetings=meetings, slow_events=slow_events)
    with bench_broker(bootstrap_servers) as broker:
        broker.create(PREFIX + DEAD_LETTERS, partitions=1)
        courses = _courses(sides, broker=broker, workload=workload, partitions=partitions)
        results = _race(sides, broker=broker, courses=courses, rounds=rounds)
        broker.remove(broker.topics_with(PREFIX))
    figures: dict[str, Figure] = {"events": events, "meetings": meetings, "partitions": partitions, "rounds": rounds}
    figures["faust_events"] = workload.beginning.events
    if events == EVENTS and len(sides) == len(SIDES):
        subtitle = f"{events:,} events of {meetings:,} meetings, one process each, median of {rounds}"
        write_bars(
            chart, title="Events per second through a stateful fold", subtitle=subtitle, bars=_bars(sides, results)
        )
    publish("streams", table=_table(sides, results), figures=figures | _figures(results), environment=environment)


def _courses(sides: Sequence[Side], *, broker: Broker, workload: Workload, partitions: int) -> Mapping[Prepare, Course]:
    courses: dict[Prepare, Course] = {}
    for prepare in dict.fromkeys(side.course for side in sides):
        progress(f"preparing {workload.events:,} events of {workload.meetings:,} meetings: {prepare.__name__}")
        courses[prepare] = prepare(broker, workload, partitions)
    return courses


def _race(sides: Sequence[Side], *, broker: Broker, courses: Mapping[Prepare, Course], rounds: int) -> Results:
    """Every side in turn, round after round, so that what the machine does beside hits all alike."""
    results: dict[str, list[Measured]] = {side.name: [] for side in sides}
    for number in range(1, rounds + 1):
        for side in sides:
            app_id = f"{PREFIX}{side.name.replace('_', '-')}-{number}"
            measured = measure(side, broker=broker, course=courses[side.course], app_id=app_id)
            results[side.name].append(measured)
            progress(f"round {number}: {side.title}: {measured.events_per_s:,.0f} events/s, results are right")
    return results


def _bars(sides: Sequence[Side], results: Results) -> list[Bar]:
    found = []
    for side in sides:
        speed = middle([each.events_per_s for each in results[side.name]])
        found.append(Bar(label=side.title, value=speed, text=f"{speed:,.0f}", ours=side.name in OURS))
    return sorted(found, key=lambda bar: -bar.value)


def _table(sides: Sequence[Side], results: Results) -> Table:
    table = Table(title="Events per second through the same stateful fold, one process each")
    table.add_column("side")
    for heading in ("events/s", "lowest to highest", "CPU s per 100,000", "peak MB"):
        table.add_column(heading, justify="right")
    table.add_column("guarantee")
    for side in sides:
        rounds = results[side.name]
        speeds = [each.events_per_s for each in rounds]
        table.add_row(
            side.title,
            f"{middle(speeds):,.0f}",
            f"{min(speeds):,.0f} to {max(speeds):,.0f}",
            f"{middle([each.cpu_seconds_per_100k for each in rounds]):.2f}",
            f"{middle([each.peak_mb for each in rounds]):.0f}",
            side.guarantee,
        )
    return table


def _figures(results: Results) -> dict[str, Figure]:
    speeds = {name: [each.events_per_s for each in rounds] for name, rounds in results.items()}
    figures: dict[str, Figure] = {f"{name}_per_s": rounded(middle(values)) for name, values in speeds.items()}
    for peer in ("faust", "quix", "kafka_streams", "kafka_streams_eos", "bare"):
        figures[f"ratio_{peer}"] = ratio(speeds.get("ours", []), speeds.get(peer, []))
    figures["ratio_own_fold_quix"] = ratio(speeds.get("own_fold", []), speeds.get("quix", []))
    return figures


if __name__ == "__main__":
    run(main)
