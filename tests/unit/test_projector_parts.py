"""The pure parts of the projector engine: finding refused records, the dead-letter limit, the waits."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projectors.engine.isolation import RefusedByDatabase, as_bad_message, write_separately
from projectors.engine.limit import runs_after
from projectors.engine.slices import Refused, Slice
from projectors.projection import Consumed, Decoded
from runtime.backoff import Backoff
from runtime.randomness import seeded
from schemas.errors import BadMessage, Broken


def consumed(offset: int, partition: int = 0) -> Consumed:
    """A record with these coordinates."""
    return Consumed(topic="room-events", partition=partition, offset=offset, timestamp_ms=0, key=None, value=b"")


def slice_of(*offsets: int, partition: int = 0) -> Slice:
    """A slice with these records."""
    return Slice(partition=partition, held=offsets[0], records=tuple(consumed(each, partition) for each in offsets))


def refused(*offsets: int, partition: int = 0) -> list[Refused]:
    """These records, refused."""
    return [Refused(consumed=consumed(each, partition), error=BadMessage("bad")) for each in offsets]


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_halving_writes_all_good_records_in_order_and_refuses_all_bad_ones(bad: list[bool]) -> None:
    """Wherever the bad ones lie, each is found alone, and the good ones come out in their order, once."""
    batch = [Decoded(record=is_bad, consumed=consumed(at)) for at, is_bad in enumerate(bad)]
    rows: list[int] = []

    def write(part: Sequence[Decoded[bool]]) -> None:
        if any(each.record for each in part):
            raise psycopg.DataError("refused")
        rows.extend(each.consumed.offset for each in part)

    written, out = write_separately(batch, write)
    good = [at for at, is_bad in enumerate(bad) if not is_bad]
    assert rows == good == [each.consumed.offset for each in written]
    assert [each.consumed.offset for each in out] == [at for at, is_bad in enumerate(bad) if is_bad]


def test_an_outage_is_no_refusal() -> None:
    """What is not the record's fault goes through, however small the batch."""

    def write(_: Sequence[Decoded[int]]) -> None:
        raise psycopg.OperationalError("gone")

    with pytest.raises(psycopg.OperationalError):
        write_separately([Decoded(record=1, consumed=consumed(0))], write)


def test_a_refusal_does_not_quote_the_database() -> None:
    """The database's words may hold a row's values, so only their kind is kept."""
    error = as_bad_message(psycopg.DataError("invalid input: secret@example.com"))
    assert isinstance(error, RefusedByDatabase)
    assert str(error) == "DataError (client)"


def test_a_good_record_ends_a_run() -> None:
    """Runs are counted to the end of the slice, from what was stored before it."""
    runs = runs_after([slice_of(5, 6, 7, 8)], refused(5, 7, 8), before={0: 3}, limit=5)
    assert runs == {0: 2}


def test_a_run_goes_on_from_slice_to_slice() -> None:
    """A limit larger than a batch is reached all the same."""
    with pytest.raises(Broken, match="room-events/0/6"):
        runs_after([slice_of(5, 6, 7)], refused(5, 6, 7), before={0: 3}, limit=5)


def test_each_partition_has_its_own_run() -> None:
    """Bad records of one partition do not count for another; partitions that were lost do not count at all."""
    slices = [slice_of(1, 2, partition=0), slice_of(1, 2, partition=1), slice_of(1, 2, partition=2)]
    bad = refused(1, 2, partition=0) + refused(2, partition=1) + refused(1, 2, partition=2)
    assert runs_after(slices, bad, before={0: 0, 1: 2}, limit=3) == {0: 2, 1: 1}


@given(st.integers(), st.integers(min_value=1, max_value=40))
def test_waits_stay_below_doubling_steps_and_the_limit(seed: int, times: int) -> None:
    """Each wait lies between nothing and its step; the steps double up to the limit."""
    backoff = Backoff(0.1, 5.0, seeded(seed))
    waits = [backoff.next_seconds() for _ in range(times)]
    assert all(0 <= wait <= min(5.0, 0.1 * 2**at) for at, wait in enumerate(waits))


def test_what_the_other_side_asks_for_is_waited_at_least() -> None:
    """A wish for a longer wait wins over the draw."""
    assert Backoff(0.1, 5.0, seeded(1)).next_seconds(at_least=7.0) == 7.0


def test_success_makes_the_next_wait_a_first_one() -> None:
    """After a reset the steps begin anew."""
    backoff = Backoff(0.1, 5.0, seeded(1))
    for _ in range(10):
        backoff.next_seconds()
    backoff.reset()
    assert backoff.next_seconds() <= 0.1
