"""Zoom's refusals as it words them: status, code and message, each from its documentation or a recorded answer."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.wire import Json

VALIDATION = 300


class Refusal(Exception):
    """A call that Zoom turns down, and the answer it gives."""

    def __init__(
        self,
        status: int,
        code: int,
        message: str,
        *,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`body` replaces the usual `code` and `message`."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers: Mapping[str, str] = headers or {}
        self.body: Json = body if body is not None else {"code": code, "message": message}


def invalid_fields(*fields: str) -> Refusal:
    """Values that do not validate."""
    errors = [{"field": field, "message": "Invalid field."} for field in fields]
    message = "Validation Failed."
    return Refusal(400, VALIDATION, message, body={"code": VALIDATION, "message": message, "errors": errors})


def no_such_user(user: str) -> Refusal:
    """The host is not of this account."""
    return Refusal(404, 1001, f"User does not exist: {user}.")


def pending_user(user: str) -> Refusal:
    """The host never accepted its invitation."""
    return Refusal(400, 1000, f"User {user} is still in pending state.")


def may_not_host() -> Refusal:
    """The host may not hold meetings."""
    return Refusal(400, 3161, "Meeting hosting and scheduling capabilities are not allowed for your user account.")


def no_such_meeting(meeting: object) -> Refusal:
    """The number or uuid is unknown, deleted or expired."""
    return Refusal(404, 3001, f"Meeting does not exist: {meeting}.")


def no_such_meeting_for_registrant(meeting: object) -> Refusal:
    """The same, as the registrant call says it: with the code of a missing user."""
    return Refusal(404, 1001, f"Meeting does not exist: {meeting}.")


def no_such_occurrence() -> Refusal:
    """The series has no such date."""
    return Refusal(400, VALIDATION, "Invalid occurrence_id.")


def in_progress() -> Refusal:
    """A running meeting cannot be deleted."""
    return Refusal(400, 3002, "Sorry, you cannot delete this meeting since it's in progress.")


def personal_room() -> Refusal:
    """The personal meeting room cannot be deleted."""
    return Refusal(400, 3018, "Not allowed to delete PMI.")


def cannot_access(what: str = "Cannot access meeting information.") -> Refusal:
    """The meeting is there, but not for this."""
    return Refusal(400, 3000, what)


def meeting_full() -> Refusal:
    """No more registrants fit."""
    return Refusal(400, 3043, "Meeting has reached maximum attendee capacity.")


def paid_only() -> Refusal:
    """The account's plan has no such report."""
    return Refusal(400, 200, "Only available for Paid or ZMP account.")


def too_old() -> Refusal:
    """Reports end after a year."""
    return Refusal(400, 12702, "Can not access a meeting a year ago.")


def stale_page() -> Refusal:
    """Page tokens live fifteen minutes."""
    return Refusal(400, VALIDATION, "The next page token is either invalid or expired.")


def bad_token(*, expired: bool) -> Refusal:
    """The access token is unknown, killed or past its time."""
    return Refusal(401, 124, "Access token has expired." if expired else "Invalid access token.")


def missing_scope(scope: str) -> Refusal:
    """The app lacks a permission."""
    return Refusal(400, 4711, f"Invalid access token, does not contain scopes:[{scope}].")


def no_such_app(app: str) -> Refusal:
    """Logs are asked of an app that is not the caller's."""
    return Refusal(404, 1401, f"APP ID does not exist: {app}.")


def unknown_endpoint() -> Refusal:
    """No such path."""
    return Refusal(404, 2300, "This API endpoint is not recognized.")


def token_refusal(reason: str, error: str) -> Refusal:
    """The token endpoint's own shape: `reason` and `error` instead of code and message."""
    return Refusal(400, 0, reason, body={"reason": reason, "error": error})
