"""The headers of dead letters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from schemas.dead_letters import (
    HISTORY_LINES,
    MESSAGE_CHARS,
    PREFIX,
    REPLAY_HEADER,
    Origin,
    carries_failure,
    dead_letter_headers,
    original_headers,
    parse_dead_letter,
)
from schemas.errors import BadMessage, DecodeError

NOON = datetime(2026, 3, 1, 12, 0, 0, 123000, tzinfo=UTC)


def failing(
    offset: int, previous: list[tuple[str, bytes]] | None = None, text: str = "no such kind"
) -> list[tuple[str, bytes]]:
    """Headers of a message that failed at this offset."""
    return dead_letter_headers(
        origin=Origin(topic="zoom-events", partition=3, offset=offset, timestamp_ms=1_772_000_000_000),
        stage="streams.rooms",
        error=BadMessage(text),
        failed_at=NOON + timedelta(seconds=offset),
        previous=previous or [("content-type", b"\xff\x00"), ("content-type", b"twice")],
    )


def test_what_was_written_is_read_back() -> None:
    """Coordinates, stage, error, time and attempt survive the headers."""
    failure = parse_dead_letter(failing(7)).failure
    assert failure.origin == Origin(topic="zoom-events", partition=3, offset=7, timestamp_ms=1_772_000_000_000)
    assert (failure.stage, failure.error_class, failure.message) == ("streams.rooms", "BadMessage", "no such kind")
    assert (failure.failed_at, failure.attempt) == (NOON + timedelta(seconds=7), 1)


def test_the_messages_own_headers_stay_as_they_were() -> None:
    """Bytes, order and repetition of the original headers are kept."""
    assert original_headers(failing(7)) == [("content-type", b"\xff\x00"), ("content-type", b"twice")]


def test_a_return_adds_a_line_of_history() -> None:
    """A message that fails again has one attempt more, and its earlier failures in order."""
    letter = parse_dead_letter(failing(9, failing(8, failing(7))))
    assert letter.failure.attempt == 3
    assert [each.origin.offset for each in letter.history] == [7, 8]
    assert letter.first.origin.offset == 7


def test_history_is_bounded_and_keeps_the_first() -> None:
    """A message that fails for ever keeps its first failure, the newest ones and a true count."""
    headers = failing(0)
    for offset in range(1, 40):
        headers = failing(offset, headers)
    letter = parse_dead_letter(headers)
    assert letter.failure.attempt == 40
    assert [each.origin.offset for each in letter.history] == [0, *range(40 - HISTORY_LINES, 39)]


def test_an_errors_text_is_cut() -> None:
    """An error that quotes its message cannot double the message's size."""
    assert len(parse_dead_letter(failing(1, text="x" * 10_000)).failure.message) == MESSAGE_CHARS


def test_forged_headers_are_no_history() -> None:
    """A sender's own broken dead-letter headers are dropped instead of failing the failure."""
    letter = parse_dead_letter(failing(1, [(PREFIX + "attempt", b"many"), (PREFIX + "history", b"[")]))
    assert (letter.failure.attempt, letter.history) == (1, ())


def test_a_live_message_is_not_a_dead_letter() -> None:
    """Headers without a failure raise DecodeError and are recognised cheaply."""
    assert not carries_failure([("content-type", b"x")])
    with pytest.raises(DecodeError):
        parse_dead_letter([("content-type", b"x")])


def test_a_return_names_the_job_that_brought_it_back() -> None:
    """The failure after a replay carries the replay's name, and so does its line of history later."""
    replayed = [*failing(7), (REPLAY_HEADER, b"friday")]
    returned = failing(8, replayed)
    letter = parse_dead_letter(failing(9, [*returned, (REPLAY_HEADER, b"monday")]))
    assert parse_dead_letter(returned).failure.job == "friday"
    assert [*(each.job for each in letter.history), letter.failure.job] == [None, "friday", "monday"]


def test_a_job_without_a_failure_is_no_history() -> None:
    """A header that somebody else put on a live message means nothing."""
    assert parse_dead_letter(failing(7, [(REPLAY_HEADER, b"forged")])).failure.job is None
