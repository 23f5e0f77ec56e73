"""Cursors of lists: opaque, and good only for the list that gave them.

A cursor holds the place of the last item; a digest over the place, the account and the filters stands before it, so one
that was cut, edited or taken from another list is refused instead of giving a page of nothing. It holds no secret, and
an account's query sees that account's rows whatever the cursor says.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from hashlib import sha256

CURSOR_CHARS = 1_024
_DIGEST_BYTES = 9


def encode_cursor(place: Sequence[str], *, scope: Sequence[str | None]) -> str:
    """The cursor for what comes after `place` in the list that `scope` names."""
    text = json.dumps(list(place), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_digest(text, scope) + text).decode().rstrip("=")


def decode_cursor(cursor: str, *, scope: Sequence[str | None], parts: int) -> tuple[str, ...] | None:
    """The place; None for what this list never gave."""
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        digest, text = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
        place = json.loads(text) if digest == _digest(text, scope) else None
    except (binascii.Error, ValueError, RecursionError):  # anybody can make the digest of a text that is no place
        return None
    if not isinstance(place, list) or len(place) != parts:
        return None
    return tuple(map(str, place))


def _digest(text: bytes, scope: Sequence[str | None]) -> bytes:
    return sha256(json.dumps(list(scope)).encode() + b"\0" + text).digest()[:_DIGEST_BYTES]
