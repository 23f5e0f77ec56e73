"""Waiting for something to come true: the only place in the tests where time passes."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

Seen = TypeVar("Seen")

_POLL_SECONDS = 0.05


def wait_for(condition: Callable[[], Seen], *, what: str, within_seconds: float = 60.0) -> Seen:
    """What `condition` gives as soon as that is true; fails, naming `what` and the last value, when it never is."""
    deadline = time.monotonic() + within_seconds
    while not (seen := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_seconds:g} s: {what} (last seen: {seen!r})")
        time.sleep(_POLL_SECONDS)
    return seen


@overload
async def eventually(condition: Callable[[], Awaitable[Seen]], *, what: str, within_seconds: float = ...) -> Seen: ...
@overload
async def eventually(condition: Callable[[], Seen], *, what: str, within_seconds: float = ...) -> Seen: ...
async def eventually(condition: Callable[[], Any], *, what: str, within_seconds: float = 60.0) -> Any:
    """As `wait_for`, without holding the event loop; the condition may be a coroutine function."""
    deadline = time.monotonic() + within_seconds
    while True:
        answer = condition()
        seen = await answer if inspect.isawaitable(answer) else answer
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_seconds:g} s: {what} (last seen: {seen!r})")
        await asyncio.sleep(_POLL_SECONDS)
