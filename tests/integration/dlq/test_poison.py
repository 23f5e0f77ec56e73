"""Poison among good records, as the read model of rooms meets it."""

from __future__ import annotations

from typing import Any

from projectors.rooms import RoomsProjection
from runtime.kafka.producer import Outgoing, Producer
from runtime.postgres import connect
from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS, ROOM_EVENTS
from schemas.codec import encode
from schemas.dead_letters import parse_dead_letter
from tests.dlq import messages
from tests.projecting import running
from tests.rooms import M, Rooms, body, updated
from tests.waiting import wait_for

POISON = (b"\xff\x00", b"{bad", b"\xc3\x01" + b"no schema of ours")


def test_poison_stops_nobody_behind_it(ready: Settings) -> None:
    """ZC52: two good records with noise, bad JSON and an unknown schema between them, all of one key: two rows, three letters."""
    rooms = Rooms()
    first, second = rooms.hear(body("meeting.started", 0)), rooms.hear(updated(50, topic="new"))
    values = [encode(first[0]), *POISON, encode(second[0])]
    with running(ready, RoomsProjection()), Producer(ready.kafka, client_id="tests") as producer:
        topic, headers = ready.kafka.topic_prefix + ROOM_EVENTS, [("trace", b"t1")]
        producer.send_all([Outgoing(topic=topic, key=M.encode(), value=each, headers=headers) for each in values])
        wait_for(lambda: _topic(ready) == "new", what="the second record's row", within_seconds=20)
        letters = messages(ready, DEAD_LETTERS, at_least=3)
    kept: list[tuple[Any, ...]] = []
    for letter in letters:
        found: Any = letter.headers() or []
        failure = parse_dead_letter(found).failure
        kept.append((failure.origin.offset, letter.key(), letter.value(), dict(found)["trace"], failure.error_class))
    expected = [(offset, M.encode(), value, b"t1", "DecodeError") for offset, value in enumerate(POISON, start=1)]
    assert sorted(kept) == expected


def _topic(settings: Settings) -> str | None:
    with connect(settings.postgres, role="tests") as connection:
        row = connection.execute("SELECT topic FROM room_states WHERE zoom_id = %s", (M,)).fetchone()
        return row["topic"] if row else None
