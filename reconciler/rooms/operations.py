"""What operators do with room requests; each change is noted in the audit."""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self
from uuid import UUID, uuid4

from runtime.clock import SystemClock
from runtime.kafka.producer import Outgoing, Producer
from runtime.postgres import Connection, connect, translated
from runtime.queries import queries
from runtime.settings import Settings
from runtime.topics import MEETING_COMMANDS, physical
from schemas.codec import decode, encode
from schemas.errors import Misconfigured
from schemas.records.meeting_commands import RetryRoom
from schemas.records.meeting_events import MeetingState

Row = Mapping[str, Any]


class Operations:
    """An operator's session."""

    def __init__(self, settings: Settings) -> None:
        """Connects when the context is entered."""
        self._settings = settings
        self._clock = SystemClock(shift_seconds=settings.clock.shift_seconds)
        self._actor = f"operator:{getpass.getuser()}"
        self._open = ExitStack()
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        """Connect. Raises `Unavailable` when the database is away."""
        connected = connect(self._settings.postgres, role="rooms-operator", autocommit=True)
        self._connection = self._open.enter_context(connected)
        self._open.enter_context(translated("look after room requests"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""
        self._open.__exit__(kind, error, trace)

    def requests(self, *, account: str | None = None, meeting: str | None = None, limit: int = 100) -> Sequence[Row]:
        """Requests, those that are due first.

        Raises:
            Misconfigured: `meeting` is no id.
        """
        if meeting is not None and not _is_uuid(meeting):
            raise Misconfigured(f"--meeting: {meeting} is no meeting's id")
        return self._rows("list_requests", account_id=account, meeting_id=meeting, rows=limit)

    def waiting(self) -> Row:
        """How many requests wait, and when the next one is tried."""
        return self._rows("count_waiting")[0]

    def meeting(self, name: str) -> tuple[MeetingState, Sequence[Row]]:
        """The meeting of an id or provider key, and its requests.

        Raises:
            Misconfigured: there is no such meeting.
        """
        row = self._meeting_row(name)
        state = decode(bytes(row["state"]), MeetingState)
        return state, self.requests(account=state.account_id, meeting=state.meeting_id)

    def retry(self, name: str, *, reason: str) -> str:
        """Make waiting requests due now; where none waits, ask for the room anew. Says what was done.

        Raises:
            Misconfigured: there is no such meeting.
            Unavailable: the broker does not answer.
        """
        state, waiting = self.meeting(name)
        if waiting:
            values = {"account_id": state.account_id, "meeting_id": state.meeting_id, "now": self._clock.now()}
            hurried = len(self._rows("hurry_requests", **values))
            self._note("rooms.retry", target=name, reason=reason)
            return f"{hurried} of {len(waiting)} requests due now; the others are being worked on"
        self._ask_again(state, reason=reason)
        self._note("rooms.retry", target=name, reason=reason)
        return "asked for the room anew"

    def pause(self, account: str, *, scope: str, reason: str) -> None:
        """Let nobody claim requests of the account until it is resumed.

        Raises:
            Misconfigured: there is no such account.
        """
        self._check(account)
        self._rows("pause_account", account_id=account, scope=scope, now=self._clock.now(), reason=reason or "paused")
        self._note("rooms.pause", target=f"{account}:{scope}", reason=reason)

    def resume(self, account: str, *, reason: str) -> int:
        """Lift whatever keeps requests of the account from being claimed, and say how many things that were.

        Raises:
            Misconfigured: there is no such account.
        """
        self._check(account)
        lifted = len(self._rows("resume_account", account_id=account))
        self._note("rooms.resume", target=account, reason=reason)
        return lifted

    def _check(self, account: str) -> None:
        known = [each.account_id for each in self._settings.accounts]
        if account not in known:
            raise Misconfigured(f"{account}: no such account in ROOMKEEPER_ACCOUNTS, but {', '.join(known) or 'none'}")

    def _ask_again(self, state: MeetingState, *, reason: str) -> None:
        command = RetryRoom(
            command_id=str(uuid4()),
            account_id=state.account_id,
            meeting_id=state.meeting_id,
            issued_at=self._clock.now(),
            issued_by=self._actor,
            reason=reason,
        )
        topic = physical(MEETING_COMMANDS, prefix=self._settings.kafka.topic_prefix)
        with Producer(self._settings.kafka, client_id="rooms-operator", timeout_seconds=10.0) as producer:
            producer.send(Outgoing(topic=topic, key=state.meeting_id.encode(), value=encode(command)))

    def _meeting_row(self, name: str) -> Row:
        rows = self._rows("find_meetings", meeting_id=name.partition(":")[0])
        if len(rows) != 1:
            raise Misconfigured(f"{name}: there is no such meeting")
        return rows[0]

    def _note(self, verb: str, *, target: str, reason: str) -> None:
        self._rows(
            "note_verb", now=self._clock.now(), actor=self._actor, verb=verb, target=target, reason=reason or None
        )

    def _rows(self, name: str, **values: Any) -> Sequence[Row]:
        if self._connection is None:
            raise AssertionError("the session is not open")
        cursor = self._connection.execute(queries("reconciler")[name], values)
        return cursor.fetchall() if cursor.description else []


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
