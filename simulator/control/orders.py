"""The bodies that the control side takes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from simulator.config import Plan
from simulator.faults import WEBHOOK_KINDS, Fault, Kind, Target
from simulator.script import Scenario

Seconds = Annotated[float, Field(ge=0, le=86_400)]
Count = Annotated[int, Field(ge=0, le=500)]


class Order(BaseModel):
    """Unknown fields are refused, for a fault misspelt is a fault that never comes."""

    model_config = ConfigDict(extra="forbid")


class WebhookTarget(Order):
    """Where events go."""

    url: str | None
    account_id: str | None = None


class AccountChange(Order):
    """What can be changed of an account."""

    webhook_url: str | None = None
    webhook_secret: str | None = None
    plan: Plan | None = None


class HostChange(Order):
    """What can be changed of a host."""

    licensed: bool | None = None
    pending: bool | None = None
    may_host: bool | None = None


class RateOrder(Order):
    """Whether limits hold."""

    enforced: bool


class LagOrder(Order):
    """How far behind Zoom's reports are."""

    past_seconds: Seconds = 0.0


class TokenOrder(Order):
    """How tokens behave from now on."""

    lifetime_seconds: int | None = Field(None, ge=1, le=86_400)
    one_at_a_time: bool | None = None
    scopes: tuple[str, ...] | None = None


class FaultOrder(Order):
    """A fault to put in force; `names` are endpoints or events, `*` standing for any text."""

    kind: Kind
    names: tuple[str, ...] = ("*",)
    account_id: str | None = None
    host: str | None = None
    zoom_id: str | None = None
    count: int | None = Field(None, ge=1)
    probability: float = Field(1.0, gt=0, le=1)
    acts: bool = False
    seconds: Seconds = 0.0
    status: int = Field(500, ge=200, le=599)
    code: int = 500
    message: str = "Internal Server Error."
    body: str | None = None
    content_type: str = "application/json"
    headers: dict[str, str] = Field(default_factory=dict)
    limit: str = Field("per_second", pattern="^(per_second|daily|host_daily|registrant_daily|concurrent)$")
    retry_after: str = Field("iso", pattern="^(iso|seconds|http_date|none)$")
    fields: tuple[str, ...] = ()
    values: dict[str, Any] = Field(default_factory=dict)
    attempts: int = Field(1, ge=1, le=4)
    shift_ms: int = 0

    def fault(self) -> Fault:
        """The fault it orders."""
        target = Target.WEBHOOK if self.kind in WEBHOOK_KINDS else Target.REST
        return Fault(target=target, **self.model_dump())


class NewRoom(Order):
    """A room that somebody makes in Zoom by hand."""

    account_id: str
    host: str
    body: dict[str, Any] = Field(default_factory=dict)
    """As in Zoom's create call."""


class Joining(Order):
    """Somebody who comes."""

    name: str = "Guest"
    email: str = ""
    zoom_user_id: str = ""
    registrant_id: str = ""
    customer_key: str = ""
    phone_number: str = ""
    person: str | None = None
    """The simulator's name for a person; who comes again under it is the same."""
    lobby: bool = False
    """Waits at the door instead of coming in."""


class ScenarioOrder(Order):
    """A scenario to play; see `simulator.script.Scenario`."""

    people: Count = 5
    minutes: float = Field(45.0, gt=0, le=1_440)
    rejoins: Count = 1
    dropped: Count = 1
    second_devices: Count = 1
    lobbies: Count = 1
    breakouts: Count = 1
    same_second: Count = 1
    anonymous: Count = 1
    restarts: Annotated[int, Field(ge=0, le=20)] = 0
    recorded: bool = False
    shared: bool = False

    def scenario(self) -> Scenario:
        """The scenario it orders."""
        return Scenario(**self.model_dump())


class PlaysOrder(Order):
    """One scenario for many rooms."""

    scenario: ScenarioOrder = ScenarioOrder()
    zoom_ids: list[int] = Field(default_factory=list)
    """Empty means every room that exists."""


class RawWebhook(Order):
    """Bytes to send as a webhook: signed by the account, or with another secret."""

    account_id: str
    body: str
    event: str = "raw"
    secret: str | None = None
