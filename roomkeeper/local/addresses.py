"""Where the parts of a local stack are reached."""

from __future__ import annotations

from dataclasses import dataclass, field

from roomkeeper.embedded.ports import free_ports
from runtime.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """URLs and addresses of everything; those of the HTTP parts are chosen before the parts start."""

    ingress: str
    simulator: str | None
    kafka: str
    postgres: str = field(repr=False)


def ingress_port(settings: Settings) -> int:
    """The port that was set, else a free one."""
    chosen = settings.ingress.port if "port" in settings.ingress.model_fields_set else 0
    return chosen or free_ports(1)[0]
