"""The request headers that /v1 gives a meaning to."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Header

from ingress.problems import Problem, header_problem

IDEMPOTENCY_KEY_CHARS = 255
_VISIBLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")
_VERSION = re.compile(r'(?:W/)?"?(?P<version>[0-9]{1,18})"?')
_WAIT = re.compile(r"wait=\"?(?P<seconds>[0-9]{1,4})\"?")


IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Your name for this request, 1 to 255 visible ASCII characters. The same key with the same content "
        "is the same command, however often it is sent.",
    ),
]
IfMatch = Annotated[
    str | None, Header(alias="If-Match", description='The version that you know, as `ETag` gives it: `"3"`.')
]
Prefer = Annotated[
    str | None,
    Header(description="`wait=N`: hold the answer up to N seconds (30 at most) until the work is finished."),
]


def idempotency_key(value: str | None) -> str | None:
    """The key, when one was sent.

    Raises:
        Problem: it is not 1 to 255 visible ASCII characters.
    """
    if value is None:
        return None
    if len(value) > IDEMPOTENCY_KEY_CHARS or _VISIBLE.fullmatch(value) is None:
        raise header_problem("Idempotency-Key", f"must be 1 to {IDEMPOTENCY_KEY_CHARS} visible ASCII characters")
    return value


def required_key(value: str | None) -> str:
    """The key.

    Raises:
        Problem: none was sent, or it does not hold.
    """
    key = idempotency_key(value)
    if key is None:
        raise Problem("idempotency_key_missing", "The header Idempotency-Key is missing.")
    return key


def expected_version(if_match: str | None) -> int | None:
    """The version that `If-Match` names; None without one, and for `*`.

    Raises:
        Problem: it is no version, or a list of them.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    found = _VERSION.fullmatch(if_match.strip())
    if found is None:
        raise header_problem("If-Match", 'must be one version as `ETag` gives it, such as "3"')
    return int(found["version"])


def wait_seconds(prefer: str | None, *, most: int) -> int:
    """How long the caller wants to wait, at most `most`; 0 without `wait`, or when it is not understood (RFC 7240)."""
    for preference in re.split(r"[,;]", prefer or ""):
        found = _WAIT.fullmatch(preference.strip().lower())
        if found is not None:
            return min(int(found["seconds"]), most)
    return 0


def etag(version: int | None) -> dict[str, str]:
    """The `ETag` of a meeting; a pending one has none."""
    return {} if version is None else {"etag": f'"{version}"'}
