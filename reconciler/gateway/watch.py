"""Counts of calls to Zoom, by endpoint and outcome."""

from __future__ import annotations

from runtime.metrics.catalogue.zoom import ZOOM_CALL_SECONDS, ZOOM_CALLS
from runtime.metrics.registry import Metrics
from zoom.client.client import Call, Reply
from zoom.client.decisions import Decision


class Watch:
    """Counts every try, also those that other gates stop; a gate of the client, and the first of them."""

    def __init__(self, metrics: Metrics) -> None:
        """Counts there."""
        self._metrics = metrics

    async def enter(self, _call: Call) -> Reply | None:
        """Lets everything through."""
        return None

    async def leave(self, call: Call, reply: Reply) -> None:
        """Count it, and how long Zoom took."""
        endpoint = call.endpoint.name
        self._metrics.counter(ZOOM_CALLS, endpoint=endpoint, outcome=_outcome(reply)).inc()
        if reply.answer is not None:
            self._metrics.histogram(ZOOM_CALL_SECONDS, endpoint=endpoint).observe(reply.answer.elapsed_seconds)


def _outcome(reply: Reply) -> str:
    if reply.ruling.decision is Decision.DONE:
        return "done"
    return str(reply.answer.status) if reply.answer is not None else reply.ruling.reason
