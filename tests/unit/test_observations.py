"""What Roomkeeper saw for itself, as a record."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from zoom.observations import Asked, observation

AT = datetime(2026, 3, 20, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("topic", "kept"), [("a\0b", "a\ufffdb"), ("plain", "plain"), ("its text says \\u0000", "its text says \\u0000")]
)
def test_nul_is_replaced_and_its_spelling_is_not(topic: str, kept: str) -> None:
    """PostgreSQL can hold NUL in no text; what only looks like one in JSON stays as it is."""
    asked = Asked(sent_at=AT, elapsed_seconds=0.1, status=201)
    answer: dict[str, Any] = {"id": 91000000001, "topic": topic}
    seen = observation("meeting", account_id="acct", zoom_id="91000000001", asked=asked, answer=answer, received_at=AT)
    assert orjson.loads(seen.body)["payload"]["object"]["topic"] == kept
