"""A connection as it is read: who it is, its stays, and what it proves of its run and room.

A connection is an entry of kind `connection`, or a row of a report that names none (kind `report`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemas.rooms.entry import Entry
from schemas.rooms.stays import Paired, Stay, paired, rows

_MASKED = re.compile(r"\*|~.*~")
"""Zoom masks addresses of people outside the account."""

IDENTIFIERS = ("registrant_id", "user", "customer_key", "email")
"""What names a person, the strongest first."""


_LINKS = ("parent_user_id", "bind_user_id")
_SHOWN = (
    "name",
    "email",
    "phone_number",
    "role",
    "leave_reason",
    "participant_uuid",
    "registrant_id",
    "customer_key",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One connection of one run, times in milliseconds since the epoch."""

    uuid: str
    user_id: str
    """Zoom's number of the connection within the run; of a report's row `token|join`."""
    is_report: bool
    name: str
    identifiers: Mapping[str, str]
    """Of `IDENTIFIERS` those that it has; a masked e-mail address is none."""
    links: tuple[str, ...]
    """User ids of the same group: the connection a breakout room's was moved from, the one a phone is bound to."""
    stays: tuple[Stay, ...]
    in_lobby: bool
    orphan_leaves: tuple[int, ...]
    run_started_at: int | None
    """When its run started, as its events tell."""
    witnessed: bool
    """Whether it proves that the run started."""


def read_connection(entry: Entry) -> Connection:
    """The connection in an entry of kind `connection` or `report`."""
    is_report = entry.identity.kind == "report"
    uuid, *rest = entry.identity.parts
    found = _reported(entry) if is_report else paired(entry.points)
    texts = entry.texts()
    return Connection(
        uuid=uuid,
        user_id="|".join(rest),
        is_report=is_report,
        name=texts.get("name", ""),
        identifiers=_identifiers(texts),
        links=tuple(texts[link] for link in _LINKS if link in texts),
        stays=tuple(found.stays),
        in_lobby=found.in_lobby,
        orphan_leaves=tuple(found.orphan_leaves),
        run_started_at=entry.value("run_started_at"),
        witnessed="started" in entry.maxima,
    )


def shown_connection(entry: Entry) -> dict[str, Any]:
    """A connection's own fields, as the read API shows them."""
    texts = entry.texts()
    shown: dict[str, Any] = {field: texts[field] for field in _SHOWN if field in texts}
    if "time_assumed" in entry.maxima:
        shown["time_assumed"] = True
    return shown


def _reported(entry: Entry) -> Paired:
    return Paired(
        stays=[
            Stay(joined=joined, left=left, reported=True)
            for joined, left in sorted(rows(entry.points.get("rows", ())).items())
        ]
    )


def _identifiers(texts: Mapping[str, str]) -> dict[str, str]:
    found = {name: texts[name] for name in IDENTIFIERS if name in texts}
    email = found.pop("email", "").strip().lower()
    if "@" in email and not _MASKED.search(email):
        found["email"] = email
    return found
