"""A row of an outbox as the command that it stands for.

The command's id follows from account, meeting and key, so a row that is sent twice is one command. The account is the
relay's, whatever the row says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from schemas.errors import BadMessage
from schemas.ids import AccountId, command_id_for, meeting_id_for
from schemas.records.meeting_commands import AddRegistrant, CancelMeeting, ChangeMeeting, CreateMeeting, SetRegistrant
from schemas.requests import ChangeRequest, MeetingRequest, RegistrantDecision, RegistrantRequest, cancel_hash
from schemas.schedule import ScheduleError

Row = Mapping[str, Any]
Command = CreateMeeting | ChangeMeeting | CancelMeeting | AddRegistrant | SetRegistrant
REASON_CHARS = 500


def command_of(row: Row, *, account_id: AccountId, issued_by: str) -> Command:
    """The command of a row.

    Raises:
        BadMessage: it cannot be one; the message says why, in words for whoever wrote the row.
    """
    make = _MAKERS.get(row["command"])
    if make is None:
        raise BadMessage(f"command: {row['command']!r} is none of {', '.join(_MAKERS)}")
    if row["created_at"] is None:
        raise BadMessage("created_at: is no moment of a calendar")
    read = {**row, "body": _body(row["body"])}
    try:
        return make(read, _common(read, account_id=account_id, issued_by=issued_by))
    except ScheduleError as error:
        raise BadMessage(f"{error.field}: {error}") from error
    except ValidationError as error:
        raise BadMessage(_words(error)) from error


def _body(text: str) -> dict[str, Any]:
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadMessage(f"body: {error.msg}") from error
    if not isinstance(body, dict):
        raise BadMessage("body: is not a JSON object")
    return body


def _common(row: Row, *, account_id: AccountId, issued_by: str) -> dict[str, Any]:
    meeting_id = meeting_id_for(account_id, row["meeting_key"])
    key = row["meeting_key"] if row["command"] == "create" else row["idempotency_key"]
    return {
        "command_id": command_id_for(account_id, meeting_id, key),
        "account_id": account_id,
        "meeting_id": meeting_id,
        "issued_at": row["created_at"],
        "issued_by": issued_by,
        "idempotency_key": key,
    }


def _create(row: Row, common: dict[str, Any]) -> Command:
    asked = MeetingRequest.model_validate(row["body"])
    return CreateMeeting(**common, request_hash=asked.request_hash(), details=asked.details())


def _change(row: Row, common: dict[str, Any]) -> Command:
    asked = ChangeRequest.model_validate(row["body"])
    version = row["expected_version"]
    return ChangeMeeting(
        **common,
        request_hash=asked.request_hash(expected_version=version),
        expected_version=version,
        changes=asked.changes(),
    )


def _cancel(row: Row, common: dict[str, Any]) -> Command:
    reason, version = str(row["body"].get("reason", "")), row["expected_version"]
    unknown = sorted(row["body"].keys() - {"reason"})
    if unknown:
        raise BadMessage(f"body: {', '.join(unknown)} is not a field of a cancellation")
    hashed = cancel_hash(reason=reason, expected_version=version)
    return CancelMeeting(**common, request_hash=hashed, expected_version=version, reason=reason)


def _register(row: Row, common: dict[str, Any]) -> Command:
    asked = RegistrantRequest.model_validate(row["body"])
    return AddRegistrant(**common, request_hash=asked.request_hash(), **asked.model_dump())


def _decide(row: Row, common: dict[str, Any]) -> Command:
    asked = RegistrantDecision.model_validate(row["body"])
    return SetRegistrant(**common, request_hash=asked.request_hash(), **asked.model_dump())


_MAKERS: Mapping[str, Callable[[Row, dict[str, Any]], Command]] = {
    "create": _create,
    "change": _change,
    "cancel": _cancel,
    "register": _register,
    "decide": _decide,
}


def _words(error: ValidationError) -> str:
    """Each wrong field with its reason, without the values, which may name people."""
    lines = (f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg']}" for each in error.errors())
    return "; ".join(lines)[:REASON_CHARS]
