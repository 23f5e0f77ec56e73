"""One canonical log line and the counts of each request to the API."""

from __future__ import annotations

import structlog

from ingress.body import AsgiApp, Message, Receive, Scope, Send
from runtime.clock import Clock
from runtime.metrics.catalogue.ingress import INGRESS_REQUEST_SECONDS, INGRESS_REQUESTS
from runtime.metrics.registry import Metrics

_QUIET_ROUTES = frozenset({"/health/live", "/health/ready", "/metrics"})
"""Asked every few seconds by machines: counted, not told."""


class Watched:
    """Watches the requests to an application."""

    def __init__(self, app: AsgiApp, *, clock: Clock, metrics: Metrics) -> None:
        """Stands before `app`."""
        self._app = app
        self._clock = clock
        self._metrics = metrics
        self._log = structlog.get_logger("roomkeeper.ingress")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through."""
        began = self._clock.monotonic_seconds()
        status = 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._note(scope, status, self._clock.monotonic_seconds() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        """The pattern of the route stands for the path, which could hold anything."""
        route = getattr(scope.get("route"), "path", "(none)")
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._metrics.counter(INGRESS_REQUESTS, route=route, method=method, status=str(status)).inc()
        self._metrics.histogram(INGRESS_REQUEST_SECONDS, route=route, method=method).observe(seconds)
        if route not in _QUIET_ROUTES:
            self._log.info(
                "ingress.request", route=route, method=method, status=status, duration_ms=round(seconds * 1000, 1)
            )


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
