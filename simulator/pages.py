"""Paging by tokens that live fifteen minutes."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from simulator import refusals

TOKEN_SECONDS = 900
_MOST = 300
_USUAL = 30
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """One page of a list."""

    items: Sequence[Item]
    size: int
    total: int
    next_token: str


def page(items: Sequence[Item], *, query: Mapping[str, str], now: datetime) -> Page[Item]:
    """The page that the query asks for.

    Raises:
        Refusal: a page too long, or a token that is not ours or too old.
    """
    size = number(query, "page_size", usual=_USUAL)
    if not 1 <= size <= _MOST:
        raise refusals.invalid_fields("page_size")
    begin = _offset(query.get("next_page_token") or "", now=now)
    end = begin + size
    token = "" if end >= len(items) else _token(end, now=now)
    return Page(items=items[begin:end], size=size, total=len(items), next_token=token)


def number(query: Mapping[str, str], name: str, *, usual: int) -> int:
    """A whole number of the query.

    Raises:
        Refusal: it is something else.
    """
    text = query.get(name) or str(usual)
    if not text.isascii() or not text.isdecimal():
        raise refusals.invalid_fields(name)
    return int(text)


def _token(offset: int, *, now: datetime) -> str:
    return urlsafe_b64encode(f"{offset}:{int(now.timestamp())}".encode()).decode()


def _offset(token: str, *, now: datetime) -> int:
    if not token:
        return 0
    try:
        offset, made_at = urlsafe_b64decode(token.encode()).decode("ascii").split(":")
        age = now.timestamp() - int(made_at)
        if age + 1 >= 0 and age <= TOKEN_SECONDS:
            return int(offset)
    except (NotBase64, ValueError):
        pass
    raise refusals.stale_page()
