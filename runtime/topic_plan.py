"""What must be done so that a cluster's topics are as `topics.yaml` declares them.

Pure: it compares, it changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from runtime.topics import Shape

CLEANUP = "cleanup.policy"
IN_SYNC = "min.insync.replicas"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One topic, and what is to become of it."""

    topic: str
    """Name on the cluster."""
    action: Literal["create", "alter", "keep", "refuse"]
    wanted: Shape
    found: Shape | None
    changes: Mapping[str, str]
    """Of `alter`: the configs to set."""
    why: str
    """In words; empty when the topic is as declared."""

    @property
    def blocks(self) -> bool:
        """Whether no role may start before this is done: missing, other partitions, or another cleanup."""
        return self.action in ("create", "refuse") or CLEANUP in self.changes


def plan(wanted: Mapping[str, Shape], found: Mapping[str, Shape]) -> tuple[Step, ...]:
    """A step for every wanted topic, in their order; topics that nobody declared are left alone."""
    return tuple(_step(name, shape, found.get(name)) for name, shape in wanted.items())


def complaint(steps: tuple[Step, ...]) -> str | None:
    """Why roles cannot start, with the cure, in one line; None when they can."""
    blocking = [step for step in steps if step.blocks]
    if not blocking:
        return None
    lines = "; ".join(f"topic {step.topic}: {step.why}" for step in blocking)
    cures = ["run `roomkeeper topics apply`"] if any(step.action != "refuse" for step in blocking) else []
    if any(step.action == "refuse" for step in blocking):
        cures.append("partition counts are fixed at birth, see docs/topics.md for moving to new topics")
    return f"{lines} ({'; '.join(cures)})"


def _step(name: str, wanted: Shape, found: Shape | None) -> Step:
    if found is None:
        return Step(topic=name, action="create", wanted=wanted, found=None, changes={}, why="missing")
    if found.partitions != wanted.partitions:
        why = f"{found.partitions} partitions instead of {wanted.partitions}"
        return Step(topic=name, action="refuse", wanted=wanted, found=found, changes={}, why=why)
    differing = {key: value for key, value in wanted.configs.items() if found.configs.get(key) != value}
    # With more in-sync replicas wanted than there are replicas, nobody could write to the topic any more.
    changes = {key: value for key, value in differing.items() if key != IN_SYNC or int(value) <= found.replication}
    reasons = [f"{key} {found.configs.get(key)} instead of {value}" for key, value in differing.items()]
    if found.replication != wanted.replication:
        reasons.append(
            f"replication {found.replication} instead of {wanted.replication}, which Kafka's own tools change"
        )
    action: Literal["alter", "keep"] = "alter" if changes else "keep"
    return Step(topic=name, action=action, wanted=wanted, found=found, changes=changes, why=", ".join(reasons))
