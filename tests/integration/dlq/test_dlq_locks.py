"""Who writes the ledger at the same time as others: nobody waits in a circle."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations
from typing import Any

import pytest

from projectors.dead_letters import LedgerProjection
from projectors.projection import Consumed, Decoded
from roomkeeper.cli import compose
from runtime.kafka.producer import Outgoing
from runtime.postgres import connect
from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS, ROOM_EVENTS
from schemas.dead_letters import dead_letter_headers, letter_id_of, parse_dead_letter
from schemas.errors import BadMessage, Unavailable
from tests.dlq import NOON, dead_letter, rows_like
from tests.waiting import wait_for

Other = Callable[[Settings, list[Outgoing]], None]


def discard(_settings: Settings, _letters: list[Outgoing]) -> None:
    """An operator gives up on all."""
    words = ["dlq", "discard", "--reason", "a test"]
    compose(words)(words, prog_name="roomkeeper", standalone_mode=False)


def return_again(settings: Settings, letters: list[Outgoing]) -> None:
    """The projection learns that all came back."""
    keep(settings, [_returned(each) for each in letters], first_offset=2)


@pytest.mark.parametrize("other", [return_again, discard])
@pytest.mark.usefixtures("dlq")
def test_a_replay_and_another_writer_do_not_wait_for_each_other(ready: Settings, other: Other) -> None:
    """Both want two rows that are found in one order by origin and in the other by id and place; one waits for the other."""
    letters = two_letters(ready)
    for offset, letter in enumerate(reversed(letters)):
        keep(ready, [letter], first_offset=offset)
    words = ["dlq", "replay", "--job", "both"]
    replay = partial(compose(words), words, prog_name="roomkeeper", standalone_mode=False)
    with connect(ready.postgres, role="tests") as holder, ThreadPoolExecutor(2) as executor:
        first = parse_dead_letter(letters[0].headers)
        holder.execute("SELECT 1 FROM dead_letters WHERE letter_id = %s FOR UPDATE", (letter_id_of(first),))
        running = [executor.submit(replay)]
        wait_for(lambda: waiting(ready) == 1, what="the replay waits")
        running.append(executor.submit(other, ready, letters))
        wait_for(lambda: waiting(ready) == 2, what="the other waits")
        holder.rollback()
        for each in running:
            each.result(60)
    assert rows_like(ready) == 2


@pytest.mark.usefixtures("dlq")
def test_a_replay_whose_database_goes_away_says_that(ready: Settings) -> None:
    """In its one line, with the exit code for it, and not in a traceback about a lock that went with the session."""
    letters = two_letters(ready)
    keep(ready, letters, first_offset=0)
    words = ["dlq", "replay", "--job", "cut off"]
    replay = partial(compose(words), words, prog_name="roomkeeper", standalone_mode=False)
    with connect(ready.postgres, role="tests") as holder, ThreadPoolExecutor(1) as executor:
        holder.execute("SELECT 1 FROM dead_letters FOR UPDATE")
        running = executor.submit(replay)
        wait_for(lambda: waiting(ready) == 1, what="the replay waits")
        holder.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'roomkeeper dlq'"
        )
        with pytest.raises(Unavailable):
            running.result(60)


def two_letters(settings: Settings) -> list[Outgoing]:
    """The first by origin is the second by id."""
    made = [_letter(settings, offset) for offset in range(20)]
    ids = [letter_id_of(parse_dead_letter(each.headers)) for each in made]
    return next([made[one], made[two]] for one, two in combinations(range(20), 2) if ids[one] > ids[two])


def keep(settings: Settings, letters: list[Outgoing], *, first_offset: int) -> None:
    """Write these to the ledger, as if they lay in `dead-letters` from this offset on."""
    projection = LedgerProjection(topic_prefix=settings.kafka.topic_prefix, held_after_returns=3)
    batch = [_decoded(projection, each, offset) for offset, each in enumerate(letters, start=first_offset)]
    with connect(settings.postgres, role="tests") as connection, connection.cursor() as cursor:
        projection.apply(cursor, batch)


def waiting(settings: Settings) -> int:
    """How many wait for a row of this database."""
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with connect(settings.postgres, role="tests") as connection:
        return len(connection.execute(query).fetchall())


def _letter(settings: Settings, offset: int) -> Outgoing:
    return dead_letter(settings, ROOM_EVENTS, key=b"1", value=b"1", offset=offset, stage="projectors.tally")


def _returned(letter: Outgoing) -> Outgoing:
    origin = parse_dead_letter(letter.headers).first.origin
    error = BadMessage("still not understood")
    headers = dead_letter_headers(origin=origin, stage="tests", error=error, failed_at=NOON, previous=letter.headers)
    return Outgoing(topic=letter.topic, key=letter.key, value=letter.value, headers=headers)


def _decoded(projection: LedgerProjection, letter: Outgoing, offset: int) -> Decoded[Any]:
    consumed = Consumed(
        topic=DEAD_LETTERS,
        partition=0,
        offset=offset,
        timestamp_ms=0,
        key=letter.key,
        value=letter.value,
        headers=tuple(letter.headers),
    )
    return Decoded(record=projection.decode(consumed), consumed=consumed)
