"""What a simulated Zoom is made of: its accounts, its seed and its speed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Plan(StrEnum):
    """What the account pays for; decides rate limits and which events and reports exist."""

    FREE = "free"
    PRO = "pro"
    BUSINESS = "business"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountConfig:
    """One Zoom account with one server-to-server app."""

    account_id: str
    client_id: str
    client_secret: str
    webhook_secret: str
    plan: Plan = Plan.PRO
    hosts: int = 20
    """How many users it has: `host-01@example.com` and so on."""
    webhook_url: str | None = None
    tracking_fields: tuple[str, ...] = ()
    """Names defined account-wide; others are dropped in silence, as Zoom does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorConfig:
    """One simulated Zoom."""

    accounts: tuple[AccountConfig, ...]
    seed: int = 1
    speed: float = 1.0
    """Divides every delay and meeting length of the simulator's own; never time-outs, lifetimes or rate limits."""
    latency_seconds: float = 0.4
    """Mean time from an event to its first delivery, before it is divided by the speed."""
    live_share: float = 0.5
    """Share of events in the shapes seen live, the rest as documented."""
    token_seconds: int = 3600
    limits: bool = True
    """Whether rate limits hold."""
