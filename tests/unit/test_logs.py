"""Log lines: one per unit of work, in the same form whoever logs, and never with anything private."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
import structlog

from runtime.clock import Clock
from runtime.logs import WITHHELD, configure, unit_of_work
from runtime.settings import LogSettings
from schemas.errors import Unavailable


class StillClock(Clock):
    """A clock that moves a quarter of a second whenever it is asked how long something took."""

    def __init__(self) -> None:
        """Starts at nought."""
        self.seconds = 0.0

    def now(self) -> datetime:
        """A fixed moment."""
        return datetime(2026, 3, 1, 12, 0, 0, 5000, tzinfo=UTC)

    def monotonic_seconds(self) -> float:
        """A quarter later than before."""
        self.seconds += 0.25
        return self.seconds


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    """What the process logs, as JSON; the logging of the test run itself is put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure(LogSettings(), role="tests", clock=StillClock(), stream=stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    """The lines so far."""
    return [orjson.loads(line) for line in out.getvalue().splitlines()]


def test_a_unit_of_work_is_one_line_with_outcome_and_duration(out: io.StringIO) -> None:
    """What was noted on the way stands in the one line at the end."""
    with unit_of_work("webhook.taken", clock=StillClock(), topic="zoom-events") as unit:
        unit.note(partition=3, offset=17)
    assert lines(out) == [
        {
            "role": "tests",
            "at": "2026-03-01T12:00:00.005Z",
            "level": "info",
            "event": "webhook.taken",
            "topic": "zoom-events",
            "partition": 3,
            "offset": 17,
            "outcome": "done",
            "duration_ms": 250.0,
        }
    ]


def test_a_unit_of_work_that_fails_names_the_error_and_raises_it(out: io.StringIO) -> None:
    """An error of ours is a warning with its class as outcome."""
    with pytest.raises(Unavailable), unit_of_work("batch.written", clock=StillClock()):
        raise Unavailable("no database")
    (line,) = lines(out)
    assert (line["level"], line["outcome"], line["cause"]) == ("warning", "Unavailable", "no database")


@pytest.mark.parametrize("field", ["token", "email", "payload", "authorization", "dsn", "passcode"])
def test_private_fields_are_withheld(out: io.StringIO, field: str) -> None:
    """A field that could hold a secret or a person never shows its value."""
    structlog.get_logger().info("something", **{field: "x1Y2z3"})
    assert "x1Y2z3" not in out.getvalue()
    assert lines(out)[0][field] == WITHHELD


def test_libraries_log_in_the_same_form(out: io.StringIO) -> None:
    """A warning of a library is a line of ours, its text a message; what is below a warning is not shown."""
    logging.getLogger("aiokafka").warning("lost %s", "something")
    logging.getLogger("aiokafka").info("chatter")
    (line,) = lines(out)
    assert (line["event"], line["message"], line["logger"], line["role"]) == (
        "library",
        "lost something",
        "aiokafka",
        "tests",
    )


def test_levels_below_the_set_one_are_quiet(out: io.StringIO) -> None:
    """DEBUG is not shown at INFO."""
    structlog.get_logger().debug("detail")
    assert out.getvalue() == ""


def test_pretty_lines_are_for_reading(out: io.StringIO) -> None:
    """The pretty form is one readable line, without colours where there is no terminal."""
    stream = io.StringIO()
    configure(LogSettings(format="pretty"), role="tests", clock=StillClock(), stream=stream)
    structlog.get_logger().info("projector.wrote", rows=3)
    assert "projector.wrote" in stream.getvalue()
    assert "rows=3" in stream.getvalue()
    assert "\x1b[" not in stream.getvalue()


@pytest.mark.parametrize("form", ["pretty", "json"])
def test_a_traceback_shows_no_values(out: io.StringIO, form: str) -> None:
    """Frames hold bodies and keys: where it failed is told, what it failed on is not."""
    stream = io.StringIO()
    configure(LogSettings(format=form), role="tests", clock=StillClock(), stream=stream)
    secret = "x1Y2z3".upper()
    try:
        raise KeyError(len(secret))
    except KeyError as error:
        structlog.get_logger().error("something.failed", exc_info=error)
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
    assert stream.getvalue().count("KeyError") >= 2
    assert secret not in stream.getvalue()
