"""Silences of one account and of its hosts, against their own habit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Silences:
    """Who is silent, and since when."""

    account_since: datetime | None = None
    hosts: Mapping[str, datetime] = field(default_factory=dict)
    """By host id."""

    @property
    def any(self) -> bool:
        """Whether anybody is."""
        return self.account_since is not None or bool(self.hosts)

    def since(self, host_id: str | None) -> datetime | None:
        """Since when this host is silent, or the account with all its hosts."""
        return self.account_since or (self.hosts.get(host_id) if host_id else None)

    def as_values(self) -> dict[str, Any]:
        """For the query of rooms that may be in use meanwhile."""
        since = min([*self.hosts.values(), *([self.account_since] if self.account_since else [])], default=None)
        return {"silent_since": since, "silent_hosts": None if self.account_since else sorted(self.hosts)}
