"""A room as it is read: whether it exists, which dates it has, when it was last heard of.

What proves a room is spread over its entries: any event of a participant shows that it was there. So existence is the
newest statement of the room's own entry, unless something newer proves the contrary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from schemas.rooms.entry import Entry

Existence = Literal["unknown", "exists", "deleted", "gone_unconfirmed", "permanently_deleted"]
"""`gone_unconfirmed`: three polls over more than five minutes found nothing, and no webhook said why."""

GONE_POLLS = 3
_CLOCK_TIME = slice(0, 13)
_HIDDEN = frozenset({"existence", "host_id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomView:
    """A room without its runs, times in milliseconds since the epoch."""

    existence: Existence
    last_seen: int | None
    """Newest webhook about anything of the room."""
    wants_get: bool
    """Whether something changed of which only a GET can tell what."""
    dates: tuple[str, ...]
    """Ids of the occurrences there are."""
    details: dict[str, Any]


def room_view(entry: Entry | None, others: Iterable[Entry]) -> RoomView:
    """The room of these entries; `entry` is its own, None where none was written yet."""
    entries = [*([] if entry is None else [entry]), *others]
    heard = [each.maxima["heard"] for each in entries if "heard" in each.maxima]
    maxima = {} if entry is None else entry.maxima
    return RoomView(
        existence=existence(entry, proof=proven_at(entries)),
        last_seen=max(heard, default=None),
        wants_get=maxima.get("wanted_get", -1) > maxima.get("got", -1),
        dates=tuple(
            sorted(
                each.identity.parts[0]
                for each in entries
                if each.identity.kind == "occurrence" and takes_place(each, listed=maxima.get("dates_listed", -1))
            )
        ),
        details={} if entry is None else room_details(entry),
    )


def proven_at(entries: Iterable[Entry]) -> int:
    """When the room was last proven to exist; -1 where it never was. A date of a series proves itself alone."""
    return max((each.maxima.get("proof", -1) for each in entries if each.identity.kind != "occurrence"), default=-1)


def existence(entry: Entry | None, *, proof: int) -> Existence:
    """Whether a room exists, by its own entry and the newest proof in any."""
    if entry is None:
        return "exists" if proof >= 0 else "unknown"
    if "permanently_deleted" in entry.maxima:
        return "permanently_deleted"
    if is_deleted(entry, proof=proof):
        return "deleted"
    since = gone_since(entry)
    if since is not None and since > proof:
        return "gone_unconfirmed"
    return "exists" if proof >= 0 or "existence" in entry.registers else "unknown"


def takes_place(occurrence: Entry, *, listed: int) -> bool:
    """Whether a date of a series is there: not deleted since its newest proof, and in the newest whole list."""
    proof = occurrence.maxima.get("proof", -1)
    final = "permanently_deleted" in occurrence.maxima
    return not final and proof >= listed and not is_deleted(occurrence, proof=proof)


def is_deleted(entry: Entry, *, proof: int) -> bool:
    """Whether the newest statement about existence is a deletion that nothing disproves."""
    return entry.value("existence") == "deleted" and stated_at(entry) >= proof


def stated_at(entry: Entry) -> int:
    """When the newest statement about existence was made; -1 where none was, or none with a time."""
    register = entry.registers.get("existence")
    time = "" if register is None else register[0][_CLOCK_TIME]
    return int(time) if time.isdigit() else -1


def gone_since(entry: Entry) -> int | None:
    """The oldest of the newest three 404s; None while there are fewer."""
    gone = entry.points.get("gone", ())
    return gone[0][0] if len(gone) >= GONE_POLLS else None


def room_details(entry: Entry) -> dict[str, Any]:
    """Everything heard of the room's description, settings nested again."""
    details: dict[str, Any] = {}
    for name in sorted(entry.registers):
        if name not in _HIDDEN:
            _put(details, name.split(".") if name.startswith("settings.") else [name], entry.registers[name][1])
    return details


def _put(details: dict[str, Any], path: list[str], value: Any) -> None:
    """Set one leaf; what was a leaf itself, and has leaves below it now, gives way to them."""
    for step in path[:-1]:
        inner = details.get(step)
        if not isinstance(inner, dict):
            inner = details[step] = {}
        details = inner
    details[path[-1]] = value
