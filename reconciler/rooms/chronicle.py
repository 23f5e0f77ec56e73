"""What a room worker says of its work: counts for machines, one line for each request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

import structlog

from reconciler.rooms.queue import Request
from reconciler.rooms.results import Concluded, Kept, Result
from runtime.clock import Clock
from runtime.metrics.catalogue.rooms import ROOMS_CLAIMED, ROOMS_OUTCOMES, ROOMS_WORK_SECONDS
from runtime.metrics.registry import Metrics


class Chronicle:
    """Of one worker."""

    def __init__(self, metrics: Metrics, *, clock: Clock) -> None:
        """Counts in `metrics`."""
        self._clock = clock
        self._claims = cache(lambda action: metrics.counter(ROOMS_CLAIMED, action=action))
        self._outcomes = cache(lambda action, outcome: metrics.counter(ROOMS_OUTCOMES, action=action, outcome=outcome))
        self._ages = cache(lambda action: metrics.histogram(ROOMS_WORK_SECONDS, action=action))
        self._log = structlog.get_logger("roomkeeper.rooms")

    def claimed(self, requests: Iterable[Request]) -> None:
        """These were taken in hand."""
        for action, rows in Counter(request.action for request in requests).items():
            self._claims(action).inc(rows)

    def finished(self, request: Request, result: Result, *, seconds: float) -> None:
        """The work on one took so long."""
        self._outcomes(request.action, result.outcome).inc()
        if isinstance(result, Concluded):
            age = self._clock.now() - request.added_at
            self._ages(request.action).observe(max(0.0, age.total_seconds()))
        self._log.info(
            "rooms.request",
            account=request.account_id,
            provider_key=request.provider_key,
            epoch=request.epoch,
            outcome=result.outcome,
            code=result.code if isinstance(result, Kept) else result.error_code,
            attempts=request.attempts,
            seconds=round(seconds, 3),
        )
