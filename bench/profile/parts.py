"""Which part of a worker a sampled stack belongs to: that of its innermost frame that is known."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.profile.sampler import Stacks
from bench.streams.measure import ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part, told by pieces of its files' paths."""

    name: str
    title: str
    paths: tuple[str, ...]


PARTS: Sequence[Part] = (
    Part(
        name="records",
        title="decoding and encoding records",
        paths=(
            "/schemas/",
            "bench/streams/codec.py",
            "/fastavro/",
            "streams/rooms/wire.py",
            "streams/engine/revised.py",
        ),
    ),
    Part(name="fold", title="the fold", paths=("streams/rooms/", "bench/streams/", "/zoom/")),
    Part(name="producing", title="producing", paths=("streams/engine/producer.py", "streams/engine/outbox.py")),
    Part(
        name="table",
        title="the table: overlay, changelog and RocksDB",
        paths=("streams/engine/overlay.py", "streams/engine/store.py", "streams/engine/source.py"),
    ),
    Part(name="lanes", title="lanes and transactions", paths=("streams/engine/lane",)),
    Part(name="fetching", title="fetching: aiokafka", paths=("/aiokafka/",)),
    Part(name="faust", title="Faust and the rest of the engine", paths=("/faust/", "/mode/", "/streams/")),
    Part(name="loop", title="the event loop", paths=("/asyncio/", "/selectors.py", "/concurrent/")),
)
"""The first that fits counts."""
OTHER = Part(name="other", title="other", paths=())

_ROOTS = ("/site-packages/", f"/python{sys.version_info.major}.{sys.version_info.minor}/", f"{ROOT}/")
"""What is left out of paths that are shown."""


def shares(stacks: Stacks) -> Mapping[Part, float]:
    """The share of each part in all samples, the greatest first."""
    counts: Counter[Part] = Counter()
    for stack, count in stacks.items():
        counts[_part(stack)] += count
    total = sum(counts.values()) or 1
    return {part: count / total for part, count in counts.most_common()}


def lines(stacks: Stacks, *, most: int) -> Iterable[tuple[str, float]]:
    """The innermost functions in which most samples lie, with their shares."""
    counts: Counter[str] = Counter()
    for stack, count in stacks.items():
        counts[_function(stack[-1])] += count
    total = sum(counts.values()) or 1
    return [(function, count / total) for function, count in counts.most_common(most)]


def _part(stack: tuple[str, ...]) -> Part:
    for frame in reversed(stack):
        for part in PARTS:
            if any(path in frame for path in part.paths):
                return part
    return OTHER


def _function(frame: str) -> str:
    """`name (path)`, without the line and without where the path begins."""
    name, _, rest = frame.partition(" (")
    path = rest.rpartition(":")[0]
    for root in _ROOTS:
        path = path.rpartition(root)[2]
    return f"{name} ({path})"
