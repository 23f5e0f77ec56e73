"""How the parts of a projector fit together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from projectors.engine.observer import Observer
from projectors.engine.projector import Projector
from projectors.engine.refusals import Refusals
from projectors.engine.source import Source
from projectors.engine.writer import Writer
from projectors.projection import Projection
from runtime.backoff import Backoff
from runtime.clock import Clock
from runtime.kafka.producer import Producer
from runtime.metrics.registry import Metrics
from runtime.randomness import Random
from runtime.settings import Settings
from runtime.topics import physical

R = TypeVar("R")

DEAD_LETTER_SECONDS = 4.0
"""The broker's time to take a dead letter: less than the database lets a transaction idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the projectors of a process share."""

    settings: Settings
    producer: Producer
    """Of dead letters."""
    metrics: Metrics
    clock: Clock
    random: Random


def assemble(projection: Projection[R], around: Surroundings) -> Projector[R]:
    """A projector of this projection, not yet running."""
    settings = around.settings
    prefix = settings.kafka.topic_prefix
    stage = f"projectors.{projection.name}"
    refusals = Refusals(around.producer, topic_prefix=prefix, stage=stage, clock=around.clock)
    return Projector(
        source=Source(settings.kafka, topic=projection.topic, group=f"roomkeeper-projectors-{projection.name}"),
        writer=Writer(
            projection,
            topic=physical(projection.topic, prefix=prefix),
            postgres=settings.postgres,
            refusals=refusals,
            dead_letter_run=settings.projectors.dead_letter_run,
        ),
        settings=settings.projectors,
        backoff=Backoff(*settings.projectors.hold_backoff_seconds, around.random),
        observer=Observer(around.metrics, projection=projection.name, stage=stage, clock=around.clock),
        clock=around.clock,
    )
