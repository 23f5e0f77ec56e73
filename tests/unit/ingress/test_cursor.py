"""Cursors are opaque, and good only for the list that gave them."""

from __future__ import annotations

import base64
import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.cursor import decode_cursor, encode_cursor

SCOPE = ("meetings", "A", None)


@given(st.tuples(st.text(), st.text()))
def test_a_cursor_gives_its_place_back(place: tuple[str, str]) -> None:
    """What was encoded is decoded for the same list."""
    assert decode_cursor(encode_cursor(place, scope=SCOPE), scope=SCOPE, parts=2) == place


@pytest.mark.parametrize("scope", [("meetings", "B", None), ("meetings", "A", "cancelled"), ("instances", "A", None)])
def test_a_cursor_of_another_list_is_refused(scope: tuple[str | None, ...]) -> None:
    """Another account, filter or list does not take it."""
    assert decode_cursor(encode_cursor(("a", "b"), scope=SCOPE), scope=scope, parts=2) is None


@given(st.text(max_size=60))
def test_text_that_is_no_cursor_is_refused_without_an_error(text: str) -> None:
    """Whatever is sent as a cursor, it is a place or nothing."""
    assert decode_cursor(text, scope=SCOPE, parts=2) is None


@given(st.integers(0, 60), st.integers(1, 255))
def test_a_changed_byte_is_noticed(index: int, change: int) -> None:
    """A cursor with one byte changed is refused."""
    cursor = encode_cursor(("2026-03-10T10:00:00+00:00", "0" * 36), scope=SCOPE)
    raw = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    raw[index] ^= change
    edited = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    assert decode_cursor(edited, scope=SCOPE, parts=2) is None


@pytest.mark.parametrize("text", ["", "7", "{}", '["a"]', "[" * 740])
def test_what_somebody_made_into_a_cursor_is_refused(text: str) -> None:
    """The digest is no secret: text that is no place is refused behind a digest of its own, too."""
    scope = json.dumps(list(SCOPE)).encode()
    digest = sha256(scope + b"\0" + text.encode()).digest()[:9]
    made = base64.urlsafe_b64encode(digest + text.encode()).decode().rstrip("=")
    assert decode_cursor(made, scope=SCOPE, parts=2) is None
