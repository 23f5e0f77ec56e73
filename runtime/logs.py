"""Logs of every process: lines for people on a terminal, JSON elsewhere, on standard error.

Guarantees: one canonical line per unit of work (`unit_of_work`), with its outcome and duration; a moment comes from the
process's clock; fields that could hold a secret or a person are withheld whoever logs them; what libraries log through
the standard library comes out in the same form, from warnings up.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import orjson
import structlog
from structlog.types import EventDict, Processor

from runtime.clock import Clock
from runtime.settings import LogSettings
from schemas.errors import RoomkeeperError

WITHHELD = "(withheld)"
_PRIVATE = frozenset(
    {
        "authorization",
        "body",
        "client_secret",
        "dsn",
        "email",
        "headers",
        "host_email",
        "join_url",
        "passcode",
        "password",
        "payload",
        "secret",
        "start_url",
        "token",
        "user_name",
    }
)
"""Names of fields that never leave the process in a log."""


def configure(log: LogSettings, *, role: str, clock: Clock, stream: TextIO | None = None) -> None:
    """Set up the logs of this process; called once, by the role's command. `stream` is standard error by default."""
    out = stream or sys.stderr
    pretty = log.format == "pretty" or (log.format == "auto" and out.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        _with(role=role),
        _at(clock),
        _withhold,
    ]
    ending: list[Processor] = _pretty(out) if pretty else _json()
    structlog.configure(
        processors=[*shared, *ending],
        wrapper_class=structlog.make_filtering_bound_logger(log.level),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    _adopt_standard_logging(out, before=[*shared, _from_standard], ending=ending)


class UnitOfWork:
    """The fields of one canonical line, gathered while the work goes on."""

    def __init__(self, fields: dict[str, Any]) -> None:
        """Starts with what is known at the beginning."""
        self.fields = fields

    def note(self, **fields: Any) -> None:
        """Add to the line; `outcome=` says how it ended where that is not simply `done`."""
        self.fields.update(fields)


@contextmanager
def unit_of_work(event: str, *, clock: Clock, **fields: Any) -> Iterator[UnitOfWork]:
    """One line named `event` when the block ends: its fields, outcome and duration; an error is named and raised on."""
    log = structlog.get_logger()
    unit = UnitOfWork(dict(fields))
    began = clock.monotonic_seconds()
    write: Callable[..., Any] = log.info
    try:
        yield unit
        unit.fields.setdefault("outcome", "done")
    except BaseException as error:
        if isinstance(error, Exception):  # a cancellation is no fault
            write = log.warning if isinstance(error, RoomkeeperError) else log.error
        unit.note(outcome=type(error).__name__, cause=str(error))
        raise
    finally:
        write(event, **unit.fields, duration_ms=round((clock.monotonic_seconds() - began) * 1000, 1))


def _pretty(out: TextIO) -> list[Processor]:
    # FORCE_COLOR is how a parent with a terminal asks for colours through a pipe.
    colors = out.isatty() or "FORCE_COLOR" in os.environ
    # The default shows each frame's local variables: bodies, keys and secrets among them.
    plain = structlog.dev.plain_traceback
    return [
        structlog.dev.ConsoleRenderer(colors=colors, pad_event_to=28, timestamp_key="at", exception_formatter=plain)
    ]


def _json() -> list[Processor]:
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(serializer=_serialize)]


def _serialize(event: EventDict, **_: Any) -> str:
    return orjson.dumps(event, default=str).decode()


def _with(**constant: str) -> Processor:
    def add(_logger: Any, _method: str, event: EventDict) -> EventDict:
        return {**constant, **event}

    return add


def _at(clock: Clock) -> Processor:
    def stamp(_logger: Any, _method: str, event: EventDict) -> EventDict:
        event["at"] = clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return event

    return stamp


def _withhold(_logger: Any, _method: str, event: EventDict) -> EventDict:
    for name in _PRIVATE.intersection(event):
        event[name] = WITHHELD
    return event


def _from_standard(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """A library's own words become the message of one event, since they are no catalogued name."""
    record: logging.LogRecord = event["_record"]
    event["message"], event["event"] = event["event"], "library"
    event["logger"] = record.name
    return event


def _adopt_standard_logging(out: TextIO, *, before: list[Processor], ending: list[Processor]) -> None:
    handler = logging.StreamHandler(out)
    drop_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=before, processors=[drop_meta, *ending]))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
