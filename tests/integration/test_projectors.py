"""The projector engine on a real broker and database: rows and offsets together, whatever fails."""

from __future__ import annotations

import itertools
import signal

import pytest

from runtime.postgres import connect
from runtime.settings import Settings
from runtime.topics import ROOM_EVENTS
from schemas.errors import Broken, Misconfigured
from tests.projecting import (
    PARTITIONS,
    DiesInMidTransaction,
    Running,
    Slow,
    StopsInMidTransaction,
    Tally,
    dead_letters,
    prepare,
    process,
    produce,
    running,
    stored_offsets,
    tally,
    writers,
)
from tests.waiting import wait_for


@pytest.fixture
def ready(settings: Settings) -> Settings:
    """Settings with topics and a table for the tally."""
    return prepare(settings)


def test_every_record_becomes_a_row_once(ready: Settings) -> None:
    """Records from before the start and from after it, in batches of any size, are written once each."""
    produce(ready, range(500))
    with running(ready):
        produce(ready, range(500, 1000))
        wait_for(lambda: len(tally(ready)) >= 1000, what="all rows")
    assert tally(ready) == list(range(1000))


def test_a_restart_goes_on_where_the_rows_end(ready: Settings) -> None:
    """Neither the consumer group's offsets nor the topic's beginning count: the stored offset does."""
    for first in (0, 100, 200):
        produce(ready, range(first, first + 100))
        with running(ready):
            _wait_for_rows(ready, first + 100)
    assert tally(ready) == list(range(300))


def test_records_of_a_partition_are_written_in_order(ready: Settings) -> None:
    """The rows of one partition come in the order of their offsets."""
    produce(ready, range(300))
    with running(ready):
        wait_for(lambda: len(tally(ready)) >= 300, what="all rows")
    with connect(ready.postgres, role="tests") as connection:
        rows = connection.execute("SELECT partition, at FROM tally ORDER BY ctid").fetchall()
    offsets: dict[int, list[int]] = {}
    for row in rows:
        offsets.setdefault(row["partition"], []).append(row["at"])
    assert all(found == list(range(len(found))) for found in offsets.values())


def test_poison_records_become_dead_letters_and_the_others_rows(ready: Settings) -> None:
    """Two that cannot be decoded and two that the database refuses stop nobody, and are kept as they were (ZC52)."""
    produce(ready, [1, b"\xff\x00", 2, b"{bad", 3, 99_999, 4, 4_000_000_000, 5])
    with running(ready):
        wait_for(lambda: len(tally(ready)) >= 5, what="the good rows", within_seconds=20)
    letters = dead_letters(ready)
    assert tally(ready) == [1, 2, 3, 4, 5]
    assert sorted(value or b"" for _, value, _ in letters) == [b"4000000000", b"99999", b"{bad", b"\xff\x00"]
    assert all(key == value for key, value, _ in letters)
    assert {letter.failure.stage for _, _, letter in letters} == {"projectors.tally"}
    assert {letter.failure.error_class for _, _, letter in letters} == {"BadMessage", "RefusedByDatabase"}
    assert {letter.failure.origin.topic for _, _, letter in letters} == {ready.kafka.topic_prefix + ROOM_EVENTS}


def test_a_dead_letter_says_nothing_of_the_refused_value(ready: Settings) -> None:
    """The database's own words may quote a row; the dead letter names the kind of error and its code."""
    produce(ready, [99_999])
    with running(ready):
        wait_for(lambda: sum(stored_offsets(ready).values()) == 1, what="the offset behind the record")
    [(_, _, letter)] = dead_letters(ready)
    assert letter.failure.message == "NumericValueOutOfRange (22003)"


def test_a_run_of_bad_records_stops_the_process_and_a_restart_stops_there_again(ready: Settings) -> None:
    """A reader that understands nothing must not drain the topic; raising the limit lets the records go."""
    strict = ready.model_copy(
        update={"projectors": ready.projectors.model_copy(update={"dead_letter_run": 5, "batch_records": 3})}
    )
    produce(ready, [b"not a number %d" % number for number in range(40)])
    for _ in range(2):
        projector = Running(strict, [Tally()])
        _wait_for_end(projector)
        with pytest.raises(Broken, match=r"5 records in a row .*ROOMKEEPER_PROJECTORS__DEAD_LETTER_RUN"):
            projector.close()
    kept = len(dead_letters(ready))
    with running(ready):
        wait_for(lambda: sum(stored_offsets(ready).values()) == 40, what="the offsets behind all of them")
    assert (kept <= 4 * PARTITIONS, len(dead_letters(ready))) == (True, 40)


def test_a_projector_killed_before_its_commit_leaves_nothing_behind(ready: Settings) -> None:
    """Rows that were written and not committed are gone with the process, and written once by the next (ZC12)."""
    produce(ready, [1, 2, 3, 13, 4])
    with process(ready, DiesInMidTransaction) as child:
        assert child.wait(60) == -signal.SIGKILL
    with running(ready):
        wait_for(lambda: len(tally(ready)) >= 5, what="all rows")
    assert tally(ready) == [1, 2, 3, 4, 13]


def test_a_projector_killed_under_load_loses_and_doubles_nothing(ready: Settings) -> None:
    """Two processes share the partitions; one is killed in the middle, the other goes on alone."""
    numbers = itertools.count()

    def more(many: int) -> set[int]:
        produce(ready, list(itertools.islice(numbers, many)))
        return writers(ready)

    with process(ready) as first, process(ready) as second:
        wait_for(lambda: more(500) >= {first.pid, second.pid}, what="rows from both")
        more(2_000)
        first.kill()
        more(2_000)
        produced = next(numbers)
        wait_for(lambda: len(tally(ready)) >= produced, what="all rows")
        second.send_signal(signal.SIGTERM)
        assert second.wait(30) == 0
    assert tally(ready) == list(range(produced))


def test_a_rebalance_in_the_middle_of_a_batch_skips_and_doubles_nothing(ready: Settings) -> None:
    """While slow batches are under way partitions move to a second process and back: fetched records are dropped (ZC53)."""
    small = ready.model_copy(update={"projectors": ready.projectors.model_copy(update={"batch_records": 40})})
    produce(ready, range(200))
    with running(small, Slow()):
        wait_for(lambda: tally(ready), what="the first batch")
        with process(small, Slow) as second:
            produce(ready, range(200, 400))
            wait_for(lambda: second.pid in writers(ready), what="rows by the second")
            second.send_signal(signal.SIGTERM)
            assert second.wait(30) == 0
        wait_for(lambda: len(tally(ready)) >= 400, what="all rows")
    assert tally(ready) == list(range(400))


def test_a_frozen_owner_that_wakes_writes_nothing(ready: Settings) -> None:
    """A process frozen in mid-transaction keeps the row locked until the server ends its session; awake, it is too late."""
    with process(ready, StopsInMidTransaction) as frozen:
        produce(ready, [1, 2, 13, 4])
        wait_for(lambda: _is_stopped(frozen.pid), what="the freeze")
        with running(ready):
            wait_for(lambda: len(tally(ready)) >= 4, what="the rows by the other")
            frozen.send_signal(signal.SIGCONT)
            produce(ready, range(100, 200))
            wait_for(lambda: len(tally(ready)) >= 104, what="all rows")
            frozen.send_signal(signal.SIGTERM)
            assert frozen.wait(30) == 0
    assert tally(ready) == [1, 2, 4, 13, *range(100, 200)]


def test_an_offset_moved_by_another_hand_is_followed(ready: Settings) -> None:
    """When the stored offset is not where this process left it, the process starts over from there and writes nothing else."""
    produce(ready, range(10))
    with running(ready):
        wait_for(lambda: len(tally(ready)) >= 10, what="the first rows")
        with connect(ready.postgres, role="tests") as connection:
            connection.execute("DELETE FROM tally")
            connection.execute("UPDATE projector_offsets SET next_offset = 0")
        produce(ready, range(10, 20))
        wait_for(lambda: len(tally(ready)) >= 20, what="all rows again")
    assert tally(ready) == list(range(20))


def test_an_offset_beyond_the_topics_end_ends_the_process(ready: Settings) -> None:
    """A topic that was made anew is not the one that was read: revisions would lie, so nothing is written."""
    produce(ready, range(10))
    with running(ready):
        wait_for(lambda: len(tally(ready)) >= 10, what="the rows")
    with connect(ready.postgres, role="tests") as connection:
        connection.execute("UPDATE projector_offsets SET next_offset = 1000")
    with pytest.raises(Broken, match="another topic than the one that was read"), running(ready) as projector:
        wait_for(lambda: projector.ended, what="the end of the process")


def test_a_missing_table_ends_the_process_with_the_cure(ready: Settings) -> None:
    """A database that was not migrated is a setting's fault, not an outage."""
    with connect(ready.postgres, role="tests") as connection:
        connection.execute("DROP TABLE tally")
    produce(ready, [1])
    with pytest.raises(Misconfigured, match="db migrate"), running(ready) as projector:
        wait_for(lambda: projector.ended, what="the end of the process")


def _wait_for_rows(settings: Settings, count: int) -> None:
    wait_for(lambda: len(tally(settings)) >= count, what=f"{count} rows")


def _wait_for_end(projector: Running) -> None:
    wait_for(lambda: projector.ended, what="the end of the process")


def _is_stopped(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:  # noqa: PTH123 - not a file
        return stat.read().rpartition(")")[2].split()[0] == "T"
