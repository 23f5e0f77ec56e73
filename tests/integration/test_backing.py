"""The embedded broker and database: real, restartable on their address, gone with their owner."""

from __future__ import annotations

import psycopg
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from runtime.settings import Settings
from tests.stack import Stack, wait_for


def test_a_test_has_a_migrated_database_and_a_prefix_of_its_own(stack: Stack, settings: Settings) -> None:
    """Two corners of one stack share neither topics nor tables."""
    assert settings.postgres.dsn is not None
    with stack.corner() as other, psycopg.connect(settings.postgres.dsn.get_secret_value()) as connection:
        found = connection.execute("SELECT count(*) FROM schema_migrations").fetchone()
        assert other.kafka.topic_prefix != settings.kafka.topic_prefix
        assert other.postgres.dsn != settings.postgres.dsn
    assert found is not None
    assert found[0] != 0


def test_what_was_written_outlives_a_kill_and_a_stop_of_broker_and_database(private_stack: Stack) -> None:
    """Both come back on the same address with the same contents, after a kill, a freeze and a stop."""
    broker, database = private_stack.backing.broker, private_stack.backing.database
    assert broker is not None
    assert database is not None
    addresses = broker.bootstrap_servers, database.dsn
    _write(broker.bootstrap_servers, database.dsn)

    broker.kill()
    database.kill()
    assert not broker.running
    broker.start()
    database.start()
    broker.pause()
    broker.resume()
    broker.stop()
    database.stop()
    broker.start()
    database.start()

    assert (broker.bootstrap_servers, database.dsn) == addresses
    assert _read(broker.bootstrap_servers, database.dsn) == (b"kept", "kept")


def _write(bootstrap_servers: str, dsn: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic("outlives", num_partitions=1)])["outlives"].result(30)
    producer = Producer({"bootstrap.servers": bootstrap_servers, "acks": "all"})
    producer.produce("outlives", b"kept")
    assert producer.flush(30) == 0
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE outlives AS SELECT 'kept' AS word")


def _read(bootstrap_servers: str, dsn: str) -> tuple[bytes | None, object]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "outlives", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["outlives"])
    message = wait_for(lambda: consumer.poll(1.0), what="the record written before the outages")
    consumer.close()
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT word FROM outlives").fetchone()
    return (message.value() if message else None), row and row[0]
