"""`/metrics` for roles that have no HTTP of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import start_http_server

from runtime.metrics.registry import Metrics
from runtime.settings import MetricsSettings
from schemas.errors import Misconfigured


@contextmanager
def serving(metrics: Metrics, settings: MetricsSettings) -> Iterator[int | None]:
    """Serve the metrics while the context lasts; gives the port, None when they are off.

    Raises:
        Misconfigured: the address cannot be had.
    """
    if settings.port is None:
        yield None
        return
    try:
        server, thread = start_http_server(settings.port, addr=settings.host, registry=metrics.registry)
    except OSError as error:
        name = "ROOMKEEPER_METRICS__HOST and ROOMKEEPER_METRICS__PORT"
        raise Misconfigured(f"{name}: cannot listen on {settings.host}:{settings.port} ({error.strerror})") from error
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
