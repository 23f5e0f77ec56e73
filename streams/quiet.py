"""Keeps libraries from filling the log: aiokafka writes a hundred lines a second while a broker is away."""

from __future__ import annotations

import logging

from runtime.clock import Clock

QUIET_SECONDS = 30.0
"""The same message of the same logger is let through once in so long."""
LOGGERS = ("aiokafka", "aiokafka.consumer.fetcher", "aiokafka.consumer.group_coordinator", "aiokafka.conn")


class OnceInAWhile(logging.Filter):
    """Lets a message through, and its repetitions only after a while."""

    def __init__(self, clock: Clock) -> None:
        """Nothing was said yet."""
        super().__init__()
        self._clock = clock
        self._said_at: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it was not said of late; what is told apart is the text before its parameters are filled in."""
        now = self._clock.monotonic_seconds()
        if now - self._said_at.get(str(record.msg), float("-inf")) < QUIET_SECONDS:
            return False
        self._said_at[str(record.msg)] = now
        return True


def quieten(clock: Clock) -> None:
    """Put the filter before aiokafka's loggers."""
    once = OnceInAWhile(clock)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(once)
