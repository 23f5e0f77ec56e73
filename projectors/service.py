"""A process full of projectors: a thread for each, watched; one that ends or stalls ends all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any

import structlog

from projectors.assembly import DEAD_LETTER_SECONDS, Surroundings, assemble
from projectors.engine.projector import Projector
from projectors.projection import Projection
from runtime.backoff import Backoff
from runtime.clock import Clock
from runtime.garbage import collect_seldom
from runtime.kafka.producer import Producer
from runtime.metrics.registry import Metrics
from runtime.metrics.server import serving
from runtime.randomness import Random
from runtime.settings import Settings
from runtime.topic_admin import require_topics
from schemas.errors import Broken, Unavailable

LOOK_SECONDS = 1.0
"""How often the watch looks at the projectors."""
STOP_SECONDS = 30.0
"""A batch that was begun may be finished within so long."""

log = structlog.get_logger()


class Stalled(Broken):
    """A projector has work, broker and database, and does not get on: a supervisor should start the process anew."""


def run(
    settings: Settings,
    projections: Sequence[Projection[Any]],
    *,
    stop: Event,
    metrics: Metrics,
    clock: Clock,
    random: Random,
) -> None:
    """Run these projections until `stop`.

    Raises:
        Misconfigured: a topic, table, setting or right is missing.
        Broken: an invariant does not hold, or a projector has stalled.
    """
    collect_seldom()
    with (
        serving(metrics, settings.metrics) as port,
        Producer(settings.kafka, client_id="roomkeeper-projectors", timeout_seconds=DEAD_LETTER_SECONDS) as producer,
    ):
        _await_topics(settings, stop, Backoff(*settings.projectors.hold_backoff_seconds, random))
        log.info("projectors.running", projections=[each.name for each in projections], metrics_port=port)
        around = Surroundings(settings=settings, producer=producer, metrics=metrics, clock=clock, random=random)
        _run_all({each.name: assemble(each, around) for each in projections}, stop, settings.projectors.stall_seconds)
        log.info("projectors.stopped")


def _await_topics(settings: Settings, stop: Event, backoff: Backoff) -> None:
    """Check the topics, as soon as there is a broker to ask."""
    while not stop.is_set():
        try:
            return require_topics(settings, "projectors")
        except Unavailable as error:
            wait_seconds = backoff.next_seconds()
            log.warning("projectors.waiting", cause=str(error), wait_seconds=round(wait_seconds, 3))
            stop.wait(wait_seconds)
    return None


def _run_all(projectors: Mapping[str, Projector[Any]], stop: Event, stall_seconds: float) -> None:
    executor = ThreadPoolExecutor(max(1, len(projectors)), thread_name_prefix="projector")
    running = {name: executor.submit(each.run, stop) for name, each in projectors.items()}
    try:
        while not stop.is_set() and not any(each.done() for each in running.values()):
            wait(running.values(), timeout=LOOK_SECONDS, return_when=FIRST_EXCEPTION)
            _check_progress(projectors, stall_seconds)
    finally:
        stop.set()
        executor.shutdown(wait=False)
    _join(running)


def _check_progress(projectors: Mapping[str, Projector[Any]], stall_seconds: float) -> None:
    for name, projector in projectors.items():
        idle_seconds = projector.progress.none_for_seconds()
        if idle_seconds > stall_seconds:
            raise Stalled(f"projection {name}: no progress for {idle_seconds:.0f} s although it is behind")


def _join(running: Mapping[str, Future[None]]) -> None:
    """Wait for all to end in order, and raise what the first to fail raised."""
    _, late = wait(running.values(), timeout=STOP_SECONDS)
    for future in running.values():
        if future.done():
            future.result()
    if late:
        raise Stalled(f"{len(late)} projections did not stop within {STOP_SECONDS:.0f} s")
