"""Puts a worker together: Faust's settings, a table and an agent for each fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faust.types.enums import ProcessingGuarantee
from yarl import URL

from runtime.clock import Clock
from runtime.settings import KafkaSettings, Settings, StreamsSettings
from runtime.topics import DEAD_LETTERS
from schemas.errors import Misconfigured
from streams.agents import add_agents
from streams.credentials import credentials
from streams.engine.app import App
from streams.engine.observer import Observer, Silent
from streams.engine.recovery import TableManager
from streams.engine.table import Table
from streams.fold import Fold


def topics_of(settings: Settings, folds: Sequence[Fold[Any]]) -> list[str]:
    """Names on the cluster of the topics that a worker needs and whose partitions matter to it."""
    prefix = settings.kafka.topic_prefix
    changelogs = [f"{prefix}{settings.streams.app_id}-{fold.table}-changelog" for fold in folds]
    return [prefix + DEAD_LETTERS, *(prefix + fold.source for fold in folds), *changelogs]


def create_app(
    settings: Settings,
    folds: Sequence[Fold[Any]],
    *,
    partitions: Mapping[str, int],
    clock: Clock,
    observer: Observer | None = None,
) -> App:
    """A worker that folds each fold's source topic; it starts nothing and asks nobody.

    `partitions` has the partition counts of `topics_of`, as the broker tells them.

    Raises:
        Misconfigured: no broker is named, or a changelog has other partitions than its source.
    """
    kafka, streams = settings.kafka, settings.streams
    app = App(
        kafka=kafka,
        settings=streams,
        folds=folds,
        dead_letters=DEAD_LETTERS,
        partitions=partitions,
        clock=clock,
        observer=observer or Silent(),
        **_faust_options(kafka, streams),
    )
    add_agents(app)
    return app


def _faust_options(kafka: KafkaSettings, streams: StreamsSettings) -> dict[str, Any]:
    """Faust's settings. Its guarantee is not used: ours is the lanes' transactions."""
    if kafka.bootstrap_servers is None:
        raise Misconfigured("ROOMKEEPER_KAFKA__BOOTSTRAP_SERVERS: not set; name a broker, or run `roomkeeper up`")
    return {
        "broker": [URL(f"kafka://{server.strip()}") for server in kafka.bootstrap_servers.split(",")],
        "broker_credentials": credentials(kafka.security),
        "store": "rocksdb://",
        "datadir": str(streams.data_dir),
        "Table": Table,
        "TableManager": TableManager,
        "processing_guarantee": ProcessingGuarantee.AT_LEAST_ONCE,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "consumer_auto_offset_reset": "earliest",
        "consumer_group_instance_id": streams.instance_id,
        "table_standby_replicas": 0,
        "producer_threaded": False,
        "web_enabled": False,
        "web_tables_enabled": False,
        "web_router_enabled": False,
        "stream_wait_empty": True,
        "stream_buffer_maxsize": 64,
        "broker_max_poll_records": streams.poll_records,
        "broker_session_timeout": streams.session_timeout_seconds,
        "broker_heartbeat_interval": streams.heartbeat_seconds,
        "broker_rebalance_timeout": streams.rebalance_timeout_seconds,
        "broker_request_timeout": streams.request_timeout_seconds,
        "broker_commit_interval": 3_600.0,
        "worker_redirect_stdouts": False,
    }
