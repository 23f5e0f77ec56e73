"""A replay is killed in the middle of its job and taken up again."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from projectors.dead_letters import LedgerProjection
from runtime.environment import environment_for_children
from runtime.kafka.producer import Producer
from runtime.kafka.reader import Reader
from runtime.settings import Settings
from runtime.topic_admin import TopicAdmin
from runtime.topics import ROOM_EVENTS
from runtime.topics import load as load_topics
from tests.dlq import dead_letter, rows_like, run_dlq
from tests.projecting import prepare, running
from tests.waiting import wait_for

LETTERS, RATE = 400, 100
BATCH = RATE // 4
KEYS = 8


@pytest.fixture
def kept(settings: Settings) -> Iterator[Settings]:
    """Settings whose ledger has dead letters of a few keys, in order."""
    ready = prepare(settings)
    admin = TopicAdmin(ready.kafka)
    admin.apply(admin.plan(load_topics(), load_topics().used_by("dlq")))
    ledger = LedgerProjection(topic_prefix=ready.kafka.topic_prefix, held_after_returns=3)
    with running(ready, ledger), Producer(ready.kafka, client_id="tests") as producer:
        letters = [
            dead_letter(ready, ROOM_EVENTS, key=b"%d" % (n % KEYS), value=b"%d" % n, offset=n, stage="projectors.rooms")
            for n in range(LETTERS)
        ]
        producer.send_all(letters)
        wait_for(lambda: rows_like(ready) == LETTERS, what="the ledger")
        yield ready


def test_a_killed_replay_goes_on_and_loses_nothing(kept: Settings) -> None:
    """Each message is sent; those that were under way when it died may be twice, two batches at most, in order again."""
    words = ["dlq", "replay", "--job", "night", "--rate", str(RATE), "--yes"]
    with subprocess.Popen([sys.executable, "-m", "roomkeeper", *words], env=environment_for_children(kept)) as replay:
        wait_for(lambda: rows_like(kept, status="replayed") >= 2 * BATCH, what="the first messages")
        replay.kill()
    marked = rows_like(kept, status="replayed")
    resumed = run_dlq(kept, "replay", "--job", "night", "--yes")
    sent = _sent(kept)
    counts = Counter(value for _, value in sent)
    firsts = list(dict.fromkeys(sent))
    assert (2 * BATCH <= marked < LETTERS, resumed.lines[-1]["sent"]) == (True, LETTERS - marked)
    assert (len(counts), rows_like(kept, status="replayed", job="night")) == (LETTERS, LETTERS)
    assert sum(counts.values()) - LETTERS <= 2 * BATCH
    assert all(found == sorted(found) for key in range(KEYS) if (found := [v for k, v in firsts if k == key]))
    assert run_dlq(kept, "replay").lines[-1]["sent"] == 0


def _sent(settings: Settings) -> list[tuple[int, int]]:
    """Key and value of everything that was sent back, each partition in its order."""
    with Reader(settings.kafka, topic=settings.kafka.topic_prefix + ROOM_EVENTS) as reader:
        found = [message for batch in reader.read(reader.ranges(), batch_records=1_000) for message in batch]
    return [(int(message.key() or b""), int(message.value() or b"")) for message in found]
