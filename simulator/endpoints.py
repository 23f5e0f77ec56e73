"""The calls that the simulated Zoom knows: path, label, scope, and whether they cost the host's daily hundred.

Source: Zoom's REST reference. `{meeting}` is a number or a uuid; uuids that start with `/` or hold `//` must come
encoded twice, as Zoom's own gateway demands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from simulator.rates import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One call of Zoom's API."""

    name: str
    method: str
    path: tuple[str, ...]
    label: Label
    scope: str
    host_budget: bool = False


def _endpoint(name: str, method: str, path: str, label: Label, scope: str, *, host_budget: bool = False) -> Endpoint:
    segments = tuple(path.split("/"))
    return Endpoint(name=name, method=method, path=segments, label=label, scope=scope, host_budget=host_budget)


_L, _M, _H = Label.LIGHT, Label.MEDIUM, Label.HEAVY
ENDPOINTS = (
    _endpoint("create", "POST", "users/{host}/meetings", _L, "meeting:write:meeting:admin", host_budget=True),
    _endpoint("list", "GET", "users/{host}/meetings", _M, "meeting:read:list_meetings:admin"),
    _endpoint("upcoming", "GET", "users/{host}/upcoming_meetings", _M, "meeting:read:list_upcoming_meetings:admin"),
    _endpoint("get", "GET", "meetings/{meeting}", _L, "meeting:read:meeting:admin"),
    _endpoint("update", "PATCH", "meetings/{meeting}", _L, "meeting:update:meeting:admin", host_budget=True),
    _endpoint("delete", "DELETE", "meetings/{meeting}", _L, "meeting:delete:meeting:admin"),
    _endpoint("status", "PUT", "meetings/{meeting}/status", _L, "meeting:update:status:admin"),
    _endpoint("register", "POST", "meetings/{meeting}/registrants", _L, "meeting:write:registrant:admin"),
    _endpoint("registrants", "GET", "meetings/{meeting}/registrants", _M, "meeting:read:list_registrants:admin"),
    _endpoint(
        "registrant_status",
        "PUT",
        "meetings/{meeting}/registrants/status",
        _M,
        "meeting:update:registrant_status:admin",
    ),
    _endpoint("past", "GET", "past_meetings/{meeting}", _L, "meeting:read:past_meeting:admin"),
    _endpoint("instances", "GET", "past_meetings/{meeting}/instances", _M, "meeting:read:list_past_instances:admin"),
    _endpoint(
        "participants", "GET", "past_meetings/{meeting}/participants", _M, "meeting:read:list_past_participants:admin"
    ),
    _endpoint(
        "report", "GET", "report/meetings/{meeting}/participants", _H, "report:read:list_meeting_participants:admin"
    ),
    _endpoint("webhook_logs", "GET", "marketplace/apps/{app}/webhook_logs", _M, "marketplace_app:read:admin"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A path recognised, with the values in it."""

    endpoint: Endpoint
    values: Mapping[str, str]
    ambiguous: bool
    """Whether a uuid that starts with `/` or holds `//` came encoded only once."""


def match(method: str, raw_path: str) -> Match | None:
    """The endpoint of a still encoded path below `/v2`."""
    segments = raw_path.strip("/").split("/")
    for endpoint in ENDPOINTS:
        if endpoint.method == method and len(endpoint.path) == len(segments):
            values = _values(endpoint.path, segments)
            if values is not None:
                return _match(endpoint, values)
    return None


def _match(endpoint: Endpoint, once: Mapping[str, str]) -> Match:
    ambiguous = any(value.startswith("/") or "//" in value for value in once.values())
    # Neither numbers, base64 nor e-mail addresses hold a percent sign, so a second decoding harms none of them.
    twice = {name: unquote(value) for name, value in once.items()}
    return Match(endpoint=endpoint, values=twice, ambiguous=ambiguous)


def _values(pattern: tuple[str, ...], segments: list[str]) -> dict[str, str] | None:
    values: dict[str, str] = {}
    for expected, segment in zip(pattern, segments, strict=True):
        if expected.startswith("{"):
            values[expected[1:-1]] = unquote(segment)
        elif expected != segment:
            return None
    return values
