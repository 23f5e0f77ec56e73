"""The quick look that tells clean bodies from others never lets through what the walk would take out or refuse."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import BadMessage
from tests.samples import read, webhook_files
from zoom.webhooks import read_webhook, zoom_event
from zoom.webhooks.redaction import is_surely_clean, without_secrets

NAMES = st.sampled_from(
    [
        "topic",
        "id",
        "Password",
        "h323_passcode",
        "download_Token",
        "zak",
        "ZAK",
        "pwd",
        "client_ID",
        "secret",
        "url",
        "x",
    ]
)
TEXTS = st.sampled_from(["", "a", "https://example.com/?zak=1&x=2", "HTTPS://e/?ZAK=1", "token", "Ünïcode", "\u0130"])
DOCUMENTS = st.recursive(
    TEXTS | st.integers(0, 9) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, DOCUMENTS, max_size=4))
def test_what_looks_clean_is_clean(document: dict[str, Any]) -> None:
    """Where the look says clean, the walk takes nothing out."""
    if is_surely_clean(orjson.dumps(document).decode()):
        assert without_secrets(document) == document


def test_most_of_what_zoom_sends_needs_no_walk() -> None:
    """Participants, starts and ends, which are nearly all of the traffic, look clean."""
    clean = {file.stem for file in webhook_files() if is_surely_clean(orjson.dumps(read(file)).decode())}
    assert {"meeting.started", "meeting.ended", "meeting.participant_joined.host"} <= clean
    assert not {"meeting.created", "recording.completed"} & clean


@pytest.mark.parametrize("depth", [64, 100, 300, 1_000])
def test_a_body_that_is_nested_too_deeply_is_a_bad_message(depth: int) -> None:
    """However deep, it is refused as a message and never an error of ours."""
    body = '{"event":"meeting.started","payload":{"object":' + '{"a":' * depth + "1" + "}" * depth + "}}"
    with pytest.raises(BadMessage, match="nested"):
        _event(body.encode())


def _event(raw: bytes) -> None:
    zoom_event(read_webhook(raw), account_id="A", request_id=None, received_at=datetime(2026, 3, 10, tzinfo=UTC))
