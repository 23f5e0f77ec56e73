"""Dead letters of the streams while their topic takes none."""

from __future__ import annotations

from pathlib import Path

from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS
from tests.streams.bench import counting_bench
from tests.waiting import wait_for


def test_a_poison_record_waits_for_the_topic_of_dead_letters(settings: Settings, tmp_path: Path) -> None:
    """ZC52: while no dead letter can be kept nothing is acknowledged; then it is there, once, and the others are done."""
    bench = counting_bench(settings, tmp_path, a=1)
    bench.configure(DEAD_LETTERS, max_message_bytes="100")  # the markers of transactions still fit
    bench.feed(1, do={"do": "bad"})
    bench.feed(5)
    with bench.worker() as worker:
        worker.wait_until_ready()
        wait_for(lambda: len(worker.said("transaction.aborted")) > 3, what="aborted transactions")
        assert (bench.lag(), bench.read(DEAD_LETTERS)) == (6, [])
        bench.configure(DEAD_LETTERS, max_message_bytes="2097152")
        bench.wait_until_done(worker)
    bench.judge()
