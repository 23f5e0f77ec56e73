"""What the API's routes work with; made once per process, by `assembly`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ingress.commands import CommandGate
from ingress.key_ring import KeyRing
from ingress.reading import Reader
from ingress.waiting import Bell
from runtime.clock import Clock
from runtime.metrics.registry import Metrics
from runtime.settings import IngressSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts."""

    settings: IngressSettings
    clock: Clock
    keys: KeyRing
    gate: CommandGate
    reader: Reader
    bell: Bell
    metrics: Metrics
    faults: Callable[[], Awaitable[tuple[str, ...]]]
    """What keeps this process from doing its work now, a sentence each; empty when it is ready."""
