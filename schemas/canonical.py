"""Canonical JSON: one text for one value, whoever writes it."""

from __future__ import annotations

import json
from typing import Any


def canonical_json(value: Any) -> str:
    """The value with its keys sorted, without spaces, in plain Unicode."""
    return _ENCODER.encode(value)


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
