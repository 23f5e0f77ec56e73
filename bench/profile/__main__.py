"""`python -m bench.profile`: run our sides of bench/streams under py-spy and publish where the time goes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table

from bench.broker import bench_broker
from bench.environment import read_environment
from bench.peers.arguments import PREFIX
from bench.process import MeasuredProcess
from bench.profile.parts import lines, shares
from bench.profile.sampler import Stacks, sampled
from bench.report import Figure, publish, rounded, run
from bench.streams.measure import measure
from bench.streams.sides import OURS, SIDES
from bench.streams.workload import Workload
from runtime.topics import DEAD_LETTERS

_TOP = 12


@dataclass(slots=True, kw_only=True)
class Profile:
    """What was seen of one side."""

    title: str
    stacks: Stacks = field(default_factory=Stacks)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    """By kind of thread, while the clock ran."""

    @contextmanager
    def beside(self, process: MeasuredProcess) -> Iterator[None]:
        """Look at the process while the block lasts."""
        before = process.cpu_seconds_by_threads()
        with tempfile.TemporaryDirectory() as folder, sampled(process, folder=Path(folder)) as stacks:
            yield
            after = process.cpu_seconds_by_threads()
        self.stacks = stacks
        self.cpu_seconds = {kind: seconds - before.get(kind, 0.0) for kind, seconds in after.items()}


def main(
    events: Annotated[int, typer.Option(min=1)] = 300_000,
    meetings: Annotated[int, typer.Option(min=1)] = 2_000,
    partitions: Annotated[int, typer.Option(min=1)] = 8,
    bootstrap_servers: Annotated[str | None, typer.Option(help="An empty broker to use in place of our own.")] = None,
) -> None:
    """Profile a worker on the simple fold and on the fold of rooms."""
    environment = read_environment()
    workload = Workload(events=events, meetings=meetings)
    profiles: dict[str, Profile] = {}
    with bench_broker(bootstrap_servers) as broker:
        broker.create(PREFIX + DEAD_LETTERS, partitions=1)
        for side in (each for each in SIDES if each.name in OURS):
            profile = profiles[side.name] = Profile(title=side.title)
            course = side.course(broker, workload, partitions)
            app_id = f"{PREFIX}profile-{side.name.replace('_', '-')}"
            measure(side, broker=broker, course=course, app_id=app_id, beside=profile.beside)
        broker.remove(broker.topics_with(PREFIX))
    publish("profile", table=_tables(profiles), figures=_figures(profiles, events), environment=environment)


def _tables(profiles: Mapping[str, Profile]) -> Group:
    return Group(*(table for profile in profiles.values() for table in (_threads(profile), _parts(profile))))


def _threads(profile: Profile) -> Table:
    table = Table(title=f"{profile.title}: CPU seconds by threads")
    table.add_column("threads")
    table.add_column("CPU s", justify="right")
    for kind, seconds in sorted(profile.cpu_seconds.items(), key=lambda each: -each[1]):
        table.add_row(kind, f"{seconds:.2f}")
    return table


def _parts(profile: Profile) -> Table:
    table = Table(title=f"{profile.title}: who holds the interpreter lock")
    table.add_column("part, and then the functions that take most")
    table.add_column("share", justify="right")
    for part, share in shares(profile.stacks).items():
        table.add_row(part.title, f"{share:.0%}")
    table.add_section()
    for function, share in lines(profile.stacks, most=_TOP):
        table.add_row(function, f"{share:.0%}")
    return table


def _figures(profiles: Mapping[str, Profile], events: int) -> Mapping[str, Figure]:
    figures: dict[str, Figure] = {"events": events}
    for name, profile in profiles.items():
        for kind, seconds in profile.cpu_seconds.items():
            figures[f"{name}_{kind.lower()}_cpu_seconds"] = rounded(seconds)
        for part, share in shares(profile.stacks).items():
            figures[f"{name}_{part.name}_share"] = rounded(share)
    return figures


if __name__ == "__main__":
    run(main)
