"""When everything that was to come into a topic could be read by a `read_committed` reader."""

from __future__ import annotations

import time

from bench.broker import Broker
from schemas.errors import Broken

_SILENT_SECONDS = 60.0
_SETTLED_SECONDS = 5.0


class Watch:
    """Asks the broker for stable offsets. They count commit markers too, so the end is when nothing more comes."""

    def __init__(self, broker: Broker, *, topic: str, records: int) -> None:
        """At least so many `records` are to come, from now on or already."""
        self._broker = broker
        self._topic = topic
        self._records = records
        self._visible = -1
        self._changed_at = time.monotonic()

    def ended(self) -> float | None:
        """The monotonic second of the last change, once it is known to have been the last.

        Raises:
            Broken: nothing came for a minute, and not all is there.
        """
        asked_at = time.monotonic()
        visible = sum(self._broker.stable_offsets(self._topic).values())
        if visible != self._visible:
            self._visible, self._changed_at = visible, asked_at
        silent_seconds = asked_at - self._changed_at
        if silent_seconds > _SILENT_SECONDS:
            raise Broken(
                f"nothing came for {_SILENT_SECONDS:.0f} s after {visible} of {self._records} records of {self._topic}"
            )
        if visible < self._records or silent_seconds < _SETTLED_SECONDS:
            return None
        return self._changed_at if visible == sum(self._broker.end_offsets(self._topic).values()) else None
