"""The calls that Roomkeeper makes, with the weight Zoom gives them. Source: Zoom's Meetings REST reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote


class Label(StrEnum):
    """The class of an endpoint in Zoom's rate limits."""

    LIGHT = "light"
    MEDIUM = "medium"
    HEAVY = "heavy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One call of Zoom's API."""

    name: str
    method: str
    path: str
    label: Label
    success: int
    """The only status that means it worked."""
    host_budget: bool = False
    """Whether it counts towards its host's hundred creates and updates a day."""

    @property
    def writes(self) -> bool:
        """Whether it changes anything at Zoom."""
        return self.method != "GET"

    def url(self, base: str, values: Mapping[str, str]) -> str:
        """Its address for these values of the path."""
        parts = {name: path_part(value) for name, value in values.items()}
        return f"{base}/v2{self.path.format_map(parts)}"


def path_part(value: str) -> str:
    """A value as part of a path. Uuids that start with `/` or hold `//` are encoded twice, as Zoom wants them."""
    once = quote(value, safe="@")
    return quote(once, safe="") if value.startswith("/") or "//" in value else once


_L, _M, _H = Label.LIGHT, Label.MEDIUM, Label.HEAVY

CREATE = Endpoint(name="create", method="POST", path="/users/{host}/meetings", label=_L, success=201, host_budget=True)
GET = Endpoint(name="get", method="GET", path="/meetings/{meeting}", label=_L, success=200)
UPDATE = Endpoint(name="update", method="PATCH", path="/meetings/{meeting}", label=_L, success=204, host_budget=True)
DELETE = Endpoint(name="delete", method="DELETE", path="/meetings/{meeting}", label=_L, success=204)
LIST = Endpoint(name="list", method="GET", path="/users/{host}/meetings", label=_M, success=200)
END = Endpoint(name="end", method="PUT", path="/meetings/{meeting}/status", label=_L, success=204)
REGISTER = Endpoint(name="register", method="POST", path="/meetings/{meeting}/registrants", label=_L, success=201)
REGISTRANTS = Endpoint(name="registrants", method="GET", path="/meetings/{meeting}/registrants", label=_M, success=200)
REGISTRANT_STATUS = Endpoint(
    name="registrant_status", method="PUT", path="/meetings/{meeting}/registrants/status", label=_M, success=204
)
PAST = Endpoint(name="past", method="GET", path="/past_meetings/{meeting}", label=_L, success=200)
INSTANCES = Endpoint(name="instances", method="GET", path="/past_meetings/{meeting}/instances", label=_M, success=200)
PARTICIPANTS = Endpoint(
    name="participants", method="GET", path="/past_meetings/{meeting}/participants", label=_M, success=200
)
REPORT = Endpoint(name="report", method="GET", path="/report/meetings/{meeting}/participants", label=_H, success=200)
WEBHOOK_LOGS = Endpoint(
    name="webhook_logs", method="GET", path="/marketplace/apps/{app}/webhook_logs", label=_M, success=200
)

ENDPOINTS = (
    CREATE,
    GET,
    UPDATE,
    DELETE,
    LIST,
    END,
    REGISTER,
    REGISTRANTS,
    REGISTRANT_STATUS,
    PAST,
    INSTANCES,
    PARTICIPANTS,
    REPORT,
    WEBHOOK_LOGS,
)
