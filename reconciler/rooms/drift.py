"""Drift: somebody changed or deleted a room in Zoom.

What is heard of a room (webhooks, our own read-backs, the list) is compared with what the last read-back showed, never
with what was sent, so that what Zoom would not take is no drift. A suspicion costs one read; only what that confirms
counts. Meetings with pending work or in doubt are left out: their calls set things right, echoes being on the way. A
room that was gone and is listed again was recovered: its meeting is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any

import orjson
import structlog

from reconciler.rooms.reporting import READ_BACK, Reporter
from reconciler.rooms.zoom import RoomCalls, Seen
from reconciler.statements import Statements
from runtime.clock import Clock
from runtime.settings import RoomSettings
from schemas.codec import decode
from schemas.records.meeting_commands import RoomFound
from schemas.records.meeting_events import MeetingRoom, MeetingState
from zoom.client.decisions import Decision
from zoom.client.lists import Listing
from zoom.client.rooms import number_of, shown_by

LISTED_AGENDA = 250
"""Lists cut agendas there."""
_GONE = frozenset({"deleted", "permanently_deleted", "gone_unconfirmed"})
_KINDS = {"restore": "drift_restored", "accept": "drift_accepted", "report": "drift_reported"}

Shown = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Suspect:
    meeting: MeetingState
    room: MeetingRoom


class Drift:
    """Looks for rooms that are not as they were when last seen."""

    def __init__(
        self, statements: Statements, *, calls: RoomCalls, reporter: Reporter, settings: RoomSettings, clock: Clock
    ) -> None:
        """What is done about them is in the settings."""
        self._statements = statements
        self._calls = calls
        self._reporter = reporter
        self._settings = settings
        self._clock = clock
        self._log = structlog.get_logger("roomkeeper.rooms")

    async def check(self, account_id: str, host: str, listing: Listing) -> int:
        """Compare the rooms of a host's meetings, and say how many had drifted.

        Raises:
            Unavailable: the database or the broker is away.
        """
        rows = await self._statements.many(
            "find_rooms_of_host", account_id=account_id, host=host, now=self._clock.now()
        )
        listed = {str(number_of(item)): item for item in listing.rooms}
        suspects = [suspect for row in rows if (suspect := _suspect(row, listed, listing)) is not None]
        return sum([await self._confirm(suspect) for suspect in suspects])

    async def _confirm(self, suspect: _Suspect) -> bool:
        """Look at the room itself; what was heard may be older than what was seen."""
        meeting, room = suspect.meeting, suspect.room
        reply = await self._calls.read(meeting.account_id, room.zoom_id)
        match reply.ruling.decision:
            case Decision.DONE:
                seen = self._calls.seen(reply, meeting=meeting, host=room.host, key=room.provider_key)
                await self._reporter.observe([seen.event])
                if room.gone_at is not None:
                    await self._recovered(suspect, seen)
                    return True
                changed = changes(orjson.loads(room.shown), shown_by(reply.document))
                if changed:
                    await self._tell(suspect, found=seen.room, changed=changed)
                return bool(changed)
            case Decision.GONE if room.gone_at is None:
                event = self._calls.missing(reply, account_id=meeting.account_id, zoom_id=room.zoom_id)
                await self._reporter.observe([event] if event else [])
                await self._tell(suspect, found=None, changed=())
                return True
            case _:
                return False

    async def _recovered(self, suspect: _Suspect, seen: Seen) -> None:
        meeting, room, found = suspect.meeting, suspect.room, seen.room
        report = self._reporter.looked(
            meeting, room, kind=READ_BACK, at=found.shown_at, found=found, differences=seen.differences
        )
        await self._reporter.tell(report)
        self._log.info("rooms.recovered", account=meeting.account_id, meeting=meeting.meeting_id)

    async def _tell(self, suspect: _Suspect, *, found: RoomFound | None, changed: tuple[str, ...]) -> None:
        meeting, room = suspect.meeting, suspect.room
        kind = _KINDS[self._settings.drift]
        if self._settings.drift == "restore" and not await self._may_restore(meeting.account_id, room.zoom_id):
            kind = _KINDS["report"]
        report = self._reporter.looked(meeting, room, kind=kind, at=self._clock.now(), found=found, differences=changed)
        await self._reporter.tell(report)
        self._log.warning(
            "rooms.drift", account=meeting.account_id, meeting=meeting.meeting_id, outcome=kind, changed=changed
        )

    async def _may_restore(self, account_id: str, zoom_id: str) -> bool:
        if self._settings.restores_daily == 0:
            return False
        day = self._clock.now().astimezone(UTC).date()
        reserved = await self._statements.one(
            "reserve_day",
            account_id=account_id,
            scope="restore",
            name=zoom_id,
            day=day,
            most=self._settings.restores_daily,
        )
        return reserved is not None


def changes(before: Shown, now: Shown) -> tuple[str, ...]:
    """Names of what is shown otherwise than before, down to single settings; what is not shown now has not changed."""
    changed = [name for name in sorted(before) if name != "settings" and name in now and now[name] != before[name]]
    settings = before.get("settings", {})
    shown = now.get("settings", {})
    return (
        *changed,
        *(f"settings.{name}" for name in sorted(settings) if shown.get(name, settings[name]) != settings[name]),
    )


def _suspect(row: Mapping[str, Any], listed: Mapping[str, Mapping[str, Any]], listing: Listing) -> _Suspect | None:
    meeting = decode(bytes(row["state"]), MeetingState)
    room = meeting.room
    if room is None or not room.shown:
        return None
    before = orjson.loads(room.shown)
    item = listed.get(room.zoom_id)
    if room.gone_at is not None:
        return _Suspect(meeting=meeting, room=room) if item is not None else None
    missing = item is None and listing.complete
    differs = any(changes(before, shown) for shown in _heard(row, item, before))
    return _Suspect(meeting=meeting, room=room) if row["existence"] in _GONE or missing or differs else None


def _heard(row: Mapping[str, Any], item: Mapping[str, Any] | None, before: Shown) -> Iterable[Shown]:
    """What webhooks and polls say of the room, and what the list says, which cuts agendas and knows no settings."""
    if row["shown"]:
        yield shown_by(row["shown"])
    if item is not None:
        shown = shown_by(item)
        if str(before.get("agenda", "")).startswith(str(shown.get("agenda", ""))[: LISTED_AGENDA - 1]):
            shown.pop("agenda", None)
        yield shown
