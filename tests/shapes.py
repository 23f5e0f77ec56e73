"""Comparing what was said with a sample: the same keys and the same types, whatever the values."""

from __future__ import annotations

from typing import Any

OPTIONAL = frozenset(
    # Documented as optional, or seen live and not in the schema, or the other way round.
    ("operation", "scope", "public_ip", "private_ip", "customer_key", "phone_number", "participant_pin_code", "org")
)
EITHER_TYPE = frozenset(("payload.object.id",))


def assert_shape(found: Any, sample: Any, path: str = "") -> None:
    """The same keys and types, but for what may differ."""
    if isinstance(sample, dict):
        missing, extra = sample.keys() - found.keys() - OPTIONAL, found.keys() - sample.keys() - OPTIONAL
        assert (missing, extra) == (set(), set()), path
        for key in sample.keys() & found.keys():
            assert_shape(found[key], sample[key], f"{path}.{key}".strip("."))
    elif isinstance(sample, list):
        for each in found if sample else ():
            assert_shape(each, sample[0], path)
    elif path not in EITHER_TYPE:
        assert type(found) is type(sample), path
