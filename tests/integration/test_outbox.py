"""The outbox against a real PostgreSQL: the caller's transaction decides, order per meeting holds, bad rows are set aside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
from confluent_kafka import Consumer, TopicPartition
from psycopg.types.json import Jsonb
from structlog.testing import capture_logs

from reconciler.outbox.relay import Relay
from reconciler.outbox.service import _relay, install
from runtime.clock import SystemClock
from runtime.kafka.async_producer import AsyncProducer
from runtime.kafka.config import consumer_config
from runtime.kafka.producer import Delivery, Outgoing
from runtime.metrics.registry import Metrics
from runtime.postgres import AsyncDatabase, Connection, connect
from runtime.settings import Outbox, Settings
from runtime.topic_admin import TopicAdmin
from runtime.topics import MEETING_COMMANDS, physical
from runtime.topics import load as load_topics
from schemas.codec import decode
from schemas.errors import BadMessage, Unavailable
from schemas.ids import AccountId, command_id_for, meeting_id_for
from schemas.records.meeting_commands import ChangeMeeting
from streams.meetings.answering import AnyCommand
from streams.meetings.fold import COMMANDS
from tests.command_plane import START, Sent
from tests.waiting import eventually

ACCOUNT = AccountId("acc0000000000000000001")
MEETING: dict[str, Any] = {
    "host": "host-01@example.com",
    "topic": "Planning call",
    "start_time": START,
    "timezone": "Europe/Madrid",
}


@pytest.fixture
def caller(settings: Settings) -> Iterator[Connection]:
    """A caller's own database, with a table of its own and the outbox in it."""
    install(settings.postgres)
    with connect(settings.postgres, role="caller", autocommit=True) as connected:
        connected.execute("CREATE TABLE bookings (name text PRIMARY KEY)")
        yield connected


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[AsyncDatabase]:
    """The same database, as the relay reaches it."""
    async with AsyncDatabase(settings.postgres, role="relay") as opened:
        yield opened


def relay(database: AsyncDatabase, sender: Any, *, topic_prefix: str = "") -> Relay:
    """A relay of the caller's outbox."""
    return Relay(
        database, sender=sender, name="bookings", account_id=ACCOUNT, clock=SystemClock(), topic_prefix=topic_prefix
    )


def put(caller: Connection, key: str, command: str = "create", body: Any = MEETING, **other: Any) -> None:
    """Insert a row, in whatever transaction there is."""
    row = {"meeting_key": key, "command": command, "body": body if isinstance(body, Jsonb) else Jsonb(body), **other}
    names, places = ", ".join(row), ", ".join(f"%({name})s" for name in row)
    caller.execute(psycopg.sql.SQL(f"INSERT INTO roomkeeper_outbox ({names}) VALUES ({places})"), row)


def left(caller: Connection) -> int:
    """Rows that wait."""
    row = caller.execute("SELECT count(*) AS left FROM roomkeeper_outbox WHERE rejected_at IS NULL").fetchone()
    assert row is not None
    return int(row["left"])


def commands(sent: Sent) -> list[AnyCommand]:
    """What was sent, in order."""
    return [decode(record.value, *COMMANDS) for record in sent.records]


async def test_row_commits_or_rolls_back_with_the_callers_own(caller: Connection, database: AsyncDatabase) -> None:
    """A booking that is not written asks for no meeting; one that is, does, under the relay's account."""
    sent = Sent()
    with caller.transaction(force_rollback=True):
        caller.execute("INSERT INTO bookings VALUES ('one')")
        put(caller, "one")
    with caller.transaction():
        caller.execute("INSERT INTO bookings VALUES ('two')")
        put(caller, "two")
    await relay(database, sent).run_once()
    (command,) = commands(sent)
    meeting_id = meeting_id_for(ACCOUNT, "two")
    assert (command.meeting_id, command.account_id, command.issued_by) == (meeting_id, ACCOUNT, "outbox:bookings")
    assert (command.command_id, left(caller)) == (command_id_for(ACCOUNT, meeting_id, "two"), 0)


async def test_rows_of_a_meeting_are_sent_in_order(caller: Connection, database: AsyncDatabase) -> None:
    """Every kind of row becomes its command, the meeting's own in the order of their ids."""
    sent = Sent()
    put(caller, "one")
    put(caller, "other")
    put(caller, "one", "change", {"topic": "Second"}, expected_version=1)
    put(caller, "one", "register", {"email": "guest@example.com", "first_name": "Guest"})
    put(caller, "one", "decide", {"email": "guest@example.com", "action": "deny"})
    put(caller, "one", "cancel", {"reason": "rain"})
    await relay(database, sent).run_once()
    meeting_id = meeting_id_for(ACCOUNT, "one")
    kinds = [type(each).__name__ for each in commands(sent) if each.meeting_id == meeting_id]
    assert kinds == ["CreateMeeting", "ChangeMeeting", "AddRegistrant", "SetRegistrant", "CancelMeeting"]
    assert (len(sent.records), left(caller)) == (6, 0)


async def test_row_that_commits_late_is_not_skipped(
    caller: Connection, database: AsyncDatabase, settings: Settings
) -> None:
    """Its id is smaller than those already sent; it is sent when it is there."""
    sent = Sent()
    with connect(settings.postgres, role="slow caller") as slow:
        put(slow, "slow")
        put(caller, "quick")
        await relay(database, sent).run_once()
        early = [each.meeting_id for each in commands(sent)]
        slow.commit()
    await relay(database, sent).run_once()
    assert (early, [each.meeting_id for each in commands(sent)]) == (
        [meeting_id_for(ACCOUNT, "quick")],
        [meeting_id_for(ACCOUNT, "quick"), meeting_id_for(ACCOUNT, "slow")],
    )


@pytest.mark.parametrize(
    ("command", "body", "reason"),
    [
        ("create", {**MEETING, "topic": ""}, "topic"),
        ("create", {**MEETING, "timezone": "Mars/Base"}, "timezone"),
        ("create", ["no", "object"], "body"),
        ("change", {}, "names nothing to change"),
        ("cancel", {"because": "rain"}, "because"),
        ("register", {"email": "nobody", "first_name": "x"}, "email"),
        ("explode", {}, "explode"),
        ("create", Jsonb({}, dumps=lambda _: "[" * 2_000 + "]" * 2_000), "body"),
    ],
)
async def test_bad_row_is_set_aside_and_the_rest_go_on(
    caller: Connection, database: AsyncDatabase, command: str, body: Any, reason: str
) -> None:
    """The reason names the field, the row stays for whoever wrote it, and its meeting's other rows are sent."""
    await _set_aside(caller, database, reason, command=command, body=body)


@pytest.mark.parametrize("created_at", ["infinity", "-infinity", "20000-01-01Z", "0100-01-01Z BC"])
async def test_row_of_no_time_is_set_aside(caller: Connection, database: AsyncDatabase, created_at: str) -> None:
    """PostgreSQL knows moments that no calendar has; one of them must not hold the outbox up."""
    await _set_aside(caller, database, "created_at", created_at=created_at)


async def _set_aside(caller: Connection, database: AsyncDatabase, reason: str, **row: Any) -> None:
    sent = Sent()
    put(caller, "one", **row)
    put(caller, "one")
    put(caller, "two")
    await relay(database, sent).run_once()
    (row,) = caller.execute("SELECT reason FROM roomkeeper_outbox WHERE rejected_at IS NOT NULL").fetchall()
    assert (len(sent.records), left(caller), reason in row["reason"]) == (2, 0, True)


async def test_broker_that_is_away_leaves_the_rows(caller: Connection, database: AsyncDatabase) -> None:
    """Nothing is deleted that the broker may not have."""
    sent = Sent(down=True)
    put(caller, "one")
    with pytest.raises(Unavailable):
        await relay(database, sent).run_once()
    waiting = left(caller)
    sent.down = False
    await relay(database, sent).run_once()
    assert (waiting, left(caller), len(sent.records)) == (1, 0, 1)


class Choosy(Sent):
    """A broker that fails for some records."""

    def __init__(self, trouble: dict[str, Exception]) -> None:
        """By topic of the meeting asked for."""
        super().__init__()
        self.trouble = trouble

    async def deliver(self, record: Outgoing) -> Delivery:
        """Fails, or takes the record."""
        command = decode(record.value, *COMMANDS)
        topic = getattr(getattr(command, "details", None), "topic", "")
        if topic in self.trouble:
            raise self.trouble[topic]
        return await super().deliver(record)


async def test_row_that_was_not_acknowledged_holds_its_meeting_alone(
    caller: Connection, database: AsyncDatabase
) -> None:
    """What follows it waits for it; other meetings' rows are moved and deleted."""
    broker = Choosy({"stuck": Unavailable("no acknowledgement"), "large": BadMessage("too large")})
    put(caller, "one", body={**MEETING, "topic": "stuck"})
    put(caller, "one", "change", {"duration_minutes": 5})
    put(caller, "two")
    put(caller, "three", body={**MEETING, "topic": "large"})
    with pytest.raises(Unavailable):
        await relay(database, broker).run_once()
    waiting = left(caller)
    broker.trouble.clear()
    await relay(database, broker).run_once()
    assert (waiting, left(caller)) == (2, 0)
    assert [type(each).__name__ for each in commands(broker)] == ["CreateMeeting", "CreateMeeting", "ChangeMeeting"]


async def test_relay_that_dies_before_it_deletes(caller: Connection, database: AsyncDatabase) -> None:
    """Its row is sent again, as the very same command."""
    sent = Sent()
    put(caller, "one", "cancel", {})

    class Dying(Sent):
        async def deliver(self, record: Outgoing) -> Delivery:
            await sent.deliver(record)
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await relay(database, Dying()).run_once()
    waiting = left(caller)
    await relay(database, sent).run_once()
    first, second = sent.records
    assert (waiting, first.value, first.key) == (1, second.value, second.key)


async def test_several_relays_share_the_rows(caller: Connection, database: AsyncDatabase) -> None:
    """Each row is sent once, and each meeting's rows in order, whoever has them."""
    for number in range(40):
        put(caller, f"meeting-{number % 8}", "change", {"duration_minutes": number + 1})
    sent = Sent()

    async def work() -> None:
        while await relay(database, sent).run_once():
            pass

    await asyncio.gather(*(work() for _ in range(4)))
    await eventually(work_is_done(caller, database, sent), what="every row was moved")
    order: dict[str, list[int]] = {}
    for command in commands(sent):
        assert isinstance(command, ChangeMeeting)
        order.setdefault(command.meeting_id, []).append(int(command.changes.split(":")[1].rstrip("}")))
    assert (len(sent.records), all(each == sorted(each) for each in order.values())) == (40, True)


def work_is_done(caller: Connection, database: AsyncDatabase, sent: Sent) -> Any:
    """A condition that moves what relays left to each other."""

    async def condition() -> bool:
        await relay(database, sent).run_once()
        return left(caller) == 0

    return condition


async def test_insert_rings(caller: Connection, settings: Settings) -> None:
    """A relay hears of a row when it commits."""
    with connect(settings.postgres, role="listener", autocommit=True) as listener:
        listener.execute("LISTEN roomkeeper_outbox")
        put(caller, "one")
        heard = [each.channel for each in listener.notifies(timeout=5, stop_after=1)]
    assert heard == ["roomkeeper_outbox"]


async def test_outbox_that_is_not_there_yet_holds_up_nobody(settings: Settings) -> None:
    """Its relay waits beside the others, and begins when the table is there."""
    sent = Sent()
    outbox = Outbox(name="bookings", account_id=ACCOUNT, dsn=settings.postgres.dsn)
    with capture_logs() as logs:
        relaying = asyncio.create_task(_relay(outbox, settings, producer=sent, clock=SystemClock(), metrics=Metrics()))
        await eventually(lambda: any(each["event"] == "outbox.unusable" for each in logs), what="it is told")
    install(settings.postgres)
    with connect(settings.postgres, role="caller", autocommit=True) as caller:
        put(caller, "one")
        await eventually(lambda: left(caller) == 0, what="the row is moved")
    assert (len(commands(sent)), relaying.done()) == (1, False)
    relaying.cancel()
    await asyncio.wait([relaying])


async def test_install_adds_one_table_and_may_be_repeated(caller: Connection, settings: Settings) -> None:
    """Nothing of the caller's is touched."""
    query = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
    before = caller.execute(query).fetchall()
    put(caller, "one")
    install(settings.postgres)
    assert (caller.execute(query).fetchall(), left(caller)) == (before, 1)


async def test_rows_reach_a_real_broker(caller: Connection, database: AsyncDatabase, settings: Settings) -> None:
    """Acknowledged by Kafka, keyed by the meeting, readable as the commands they are."""
    catalogue = load_topics()
    admin = TopicAdmin(settings.kafka)
    admin.apply(admin.plan(catalogue, [MEETING_COMMANDS]))
    prefix = settings.kafka.topic_prefix
    for number in range(20):
        put(caller, f"meeting-{number}")
    async with AsyncProducer(settings.kafka, client_id="relay", timeout_seconds=10, max_in_flight=100) as producer:
        await relay(database, producer, topic_prefix=prefix).run_once()
    consumer = Consumer(consumer_config(settings.kafka, client_id="test", group="test"))
    topic = physical(MEETING_COMMANDS, prefix=prefix)
    partitions = catalogue.partitions_of(MEETING_COMMANDS, settings.kafka)
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    read = consumer.consume(20, timeout=20)
    consumer.close()
    keys = {(message.key() or b"").decode() for message in read}
    assert (keys, left(caller)) == ({meeting_id_for(ACCOUNT, f"meeting-{number}") for number in range(20)}, 0)
