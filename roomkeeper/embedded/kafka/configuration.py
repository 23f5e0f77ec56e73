"""Settings of a broker that is alone and small, wherever it runs: embedded, or in a container of the tests."""

from __future__ import annotations

from collections.abc import Mapping

BROKER, CONTROLLER = "BROKER", "CONTROLLER"


def single_broker(*, listen: str, advertise: str, controller: str, voter: str) -> Mapping[str, str]:
    """Kafka's settings for one node in KRaft mode; each address is host:port."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{voter}",
        "listeners": f"{BROKER}://{listen},{CONTROLLER}://{controller}",
        "advertised.listeners": f"{BROKER}://{advertise}",
        "listener.security.protocol.map": f"{BROKER}:PLAINTEXT,{CONTROLLER}:PLAINTEXT",
        "controller.listener.names": CONTROLLER,
        "inter.broker.listener.name": BROKER,
        # One broker holds the only copy.
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        # A missing topic must show as missing; a group of one need not wait for others.
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        # A killed broker may come back only when the controller has given it up.
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "500",
        # Small: a few threads and files, not the fifty partitions and hundreds of megabytes of a data centre.
        "offsets.topic.num.partitions": "8",
        "transaction.state.log.num.partitions": "8",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "2",
        "num.recovery.threads.per.data.dir": "2",
        "log.cleaner.enable": "true",
        "log.cleaner.threads": "1",
        "log.cleaner.backoff.ms": "1000",
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        "log.index.size.max.bytes": str(1024 * 1024),
    }
