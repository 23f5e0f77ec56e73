"""What must not travel: passcodes, host links, download tokens and links, client ids and secrets, wherever they hide.

`join_url` stays, with the passcode that is part of it: it is what a room is for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from schemas.errors import BadMessage

DEPTH = 64
"""Zoom's deepest body has about 8 levels; beyond this a body could exhaust the stack."""

WIDTH = 128
"""Zoom's widest object has about 70 fields; the fields of wider ones are not remembered."""

_SECRET_NAMES = frozenset(
    {
        "authorization",
        "client_id",
        "clientid",
        "download_url",  # its path or query is the permission to download
        "dynamic_host_key",
        "host_key",
        "participant_pin_code",
        "pwd",
        "start_url",  # logs its holder in as the host
        "zak",
    }
)
_SECRET_ENDINGS = ("password", "passcode", "token", "secret")
_CREDENTIAL_IN_URL = re.compile(r"(?i)([?&#;](?:zak|access_token|download_token)=)[^&#;\s\"']*")


def without_secrets(document: dict[str, Any]) -> dict[str, Any]:
    """The document without secrets; no copy of what holds none.

    Raises:
        BadMessage: nested deeper than `DEPTH`.
    """
    return _clean_object(document, DEPTH)


def has_secret_names(document: dict[str, Any]) -> bool:
    """Whether any object within the document has a secret field, or lies too deep for it to be said in a moment.

    Most bodies have none, and finding that out takes half as long as a cleaned copy.
    """
    return _names_secret(document, DEPTH)


def without_nul(value: Any) -> Any:
    """The value with U+FFFD for NUL, which PostgreSQL can hold in no text."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {without_nul(name): without_nul(inner) for name, inner in value.items()}
    return [without_nul(inner) for inner in value] if isinstance(value, list) else value


@lru_cache(maxsize=4096)
def is_secret(field: str) -> bool:
    """Whether a field of this name holds a secret."""
    lowered = field.lower()
    return lowered in _SECRET_NAMES or lowered.endswith(_SECRET_ENDINGS)


def _clean_object(document: dict[str, Any], depth: int) -> dict[str, Any]:
    """Plain values, which most are, are dealt with on the spot: a call for each would take most of the time."""
    if depth < 0:
        raise BadMessage(f"the body is nested deeper than {DEPTH} levels")
    secrets = _secrets_among(tuple(document)) if len(document) <= WIDTH else frozenset(filter(is_secret, document))
    if secrets:
        document = {name: value for name, value in document.items() if name not in secrets}
    changed = {}
    for name, value in document.items():
        kind = type(value)
        if kind is str:
            if "://" in value:
                changed[name] = _CREDENTIAL_IN_URL.sub(r"\1", value)
        elif kind is dict or kind is list:
            cleaned = _clean(value, depth)
            if cleaned is not value:
                changed[name] = cleaned
    return document | changed if changed else document


def _names_secret(value: Any, depth: int) -> bool:
    if depth < 0:
        return True
    if type(value) is dict:
        if len(value) > WIDTH or _secrets_among(tuple(value)):
            return True
        value = value.values()
    for inner in value:
        kind = type(inner)
        if (kind is dict or kind is list) and _names_secret(inner, depth - 1):
            return True
    return False


@lru_cache(maxsize=1024)
def _secrets_among(fields: tuple[str, ...]) -> frozenset[str]:
    """Objects of one kind have the same fields in the same order, again and again."""
    return frozenset(filter(is_secret, fields))


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _CREDENTIAL_IN_URL.sub(r"\1", value) if "://" in value else value
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        raise BadMessage(f"the body is nested deeper than {DEPTH} levels")
    if isinstance(value, dict):
        return _clean_object(value, depth - 1)
    return [_clean(inner, depth - 1) for inner in value]
