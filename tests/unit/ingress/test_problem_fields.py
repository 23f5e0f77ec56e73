"""A problem names what is at fault, also when a command was decided against after it had been accepted."""

from __future__ import annotations

import json

import pytest

from ingress.api.finishing import rejection
from ingress.api.headers import required_key
from ingress.problems import Problem


@pytest.mark.parametrize(
    ("code", "message", "at_fault"),
    [
        ("version_conflict", "The meeting is at version 2, not 1.", ("header", "If-Match")),
        ("idempotency_conflict", "The same key came before.", ("header", "Idempotency-Key")),
        ("invalid_change", "start_time does not exist: the clocks skip it.", ("body", "start_time")),
    ],
)
def test_a_rejection_names_the_field(code: str, message: str, at_fault: tuple[str, str]) -> None:
    """What `decide` says of a header or a field is told as if it had been seen at once."""
    (error,) = json.loads(rejection(code, message).body())["errors"]
    assert (error["in"], error["field"]) == at_fault


def test_a_missing_key_is_named() -> None:
    """The header stands among the errors, with what is wrong."""
    with pytest.raises(Problem) as raised:
        required_key(None)
    (error,) = raised.value.errors
    assert (error.place, error.field, error.message) == (
        "header",
        "Idempotency-Key",
        "The header Idempotency-Key is missing.",
    )


def test_what_no_field_is_to_blame_for_names_none() -> None:
    """A cancelled meeting is nobody's mistake."""
    assert rejection("meeting_cancelled", "The meeting is cancelled.").errors == ()
