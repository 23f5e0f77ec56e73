"""The four families of errors; the family alone decides what a process does.

| family | action |
|---|---|
| `BadMessage` | the message becomes a dead letter, work goes on |
| `Unavailable` | the partition is held, backing off with jitter; never a dead letter |
| `Misconfigured` | exit 2 before the first message, one line that names the setting |
| `Broken` | nothing is acknowledged, exit 1 |

A refusal by a business rule is no exception: it is a `Rejection` value.
"""

from __future__ import annotations


class RoomkeeperError(Exception):
    """Root of every error that Roomkeeper raises itself."""


class BadMessage(RoomkeeperError):
    """One message cannot be read or breaks its contract; the next one may be fine."""


class DecodeError(BadMessage):
    """Bytes are not a record of the expected kind."""


class Unavailable(RoomkeeperError):
    """Something Roomkeeper depends on does not answer at the moment."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        """`retry_after_seconds` is what the other side asked for, None when it did not say."""
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class Misconfigured(RoomkeeperError):
    """A setting, topic or schema is wrong or missing; the message names it and the cure."""


class Broken(RoomkeeperError):
    """An invariant does not hold; going on could do harm."""
