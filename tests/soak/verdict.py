"""What came of the meetings, beside what was asked for: rooms as they truly are in Zoom, meetings as Roomkeeper has them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.soak.plan import Wish

MOST_A_DAY = 100
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Counts, and a line for each thing that is not as it should be."""

    meetings: int
    missing: int
    surplus: int
    stale: int
    """Rooms, or meetings in the read model, that are not as they should be by now."""
    made_in_excess: int
    """Rooms ever made beyond one for each create that was asked for; all of them must be gone in the end."""
    host_peak: int
    """The most creates and updates of one host in one UTC day, by the simulator's own count."""
    objections: Sequence[str]

    @property
    def holds(self) -> bool:
        """Whether all is as it should be."""
        return not (self.missing or self.surplus or self.stale or self.host_peak > MOST_A_DAY)

    def shown(self) -> Iterable[str]:
        """The first objections."""
        return self.objections[:_MOST_SHOWN]


def judge(
    wishes: Sequence[Wish],
    *,
    rooms: Iterable[Mapping[str, Any]],
    meetings: Mapping[str, Mapping[str, Any]],
    host_peak: int,
) -> Verdict:
    """`rooms` is the simulator's truth, `meetings` the read model by meeting."""
    by_meeting: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    keys: Counter[str] = Counter()
    for room in rooms:
        key = str(room["agenda"]).partition("\n")[0].removeprefix("[roomkeeper ").removesuffix("]")
        keys[key] += 1
        by_meeting[key.partition(":")[0]].append(room)
    missing = surplus = stale = 0
    objections: list[str] = []
    for wish in wishes:
        there = [room for room in by_meeting[wish.meeting_id] if room["exists"]]
        wanted = 0 if wish.cancelled else 1
        missing += max(wanted - len(there), 0)
        surplus += max(len(there) - wanted, 0)
        wrong = _wrong(wish, there, meetings.get(wish.meeting_id))
        stale += bool(wrong) and len(there) == wanted
        objections += [f"{wish.meeting_id}: {each}" for each in wrong]
    return Verdict(
        meetings=len(wishes),
        missing=missing,
        surplus=surplus,
        stale=stale,
        made_in_excess=sum(count - 1 for count in keys.values()),
        host_peak=host_peak,
        objections=objections,
    )


def _wrong(wish: Wish, there: Sequence[Mapping[str, Any]], meeting: Mapping[str, Any] | None) -> list[str]:
    wanted = 0 if wish.cancelled else 1
    if len(there) != wanted:
        return [f"{len(there)} rooms in place of {wanted}: {[room['zoom_id'] for room in there]}"]
    if meeting is None:
        return ["Roomkeeper does not know it"]
    if wish.cancelled:
        return [] if meeting["room_status"] == "removed" else [f"its room is said to be {meeting['room_status']}"]
    (room,), details = there, wish.details
    pairs = (
        ("topic", room["topic"], details["topic"]),
        ("agenda", str(room["agenda"]).partition("\n")[2], details["agenda"]),
        ("duration", room["duration_minutes"], details["duration_minutes"]),
        ("start", datetime.fromisoformat(room["start_at"]), datetime.fromisoformat(details["start_time"])),
        ("host", room["host_email"], details["host"]),
        ("room as Roomkeeper knows it", meeting["zoom_id"], room["zoom_id"]),
        ("status", meeting["room_status"], "ready"),
    )
    return [f"{what} is {found!r}, not {wished!r}" for what, found, wished in pairs if found != wished]
