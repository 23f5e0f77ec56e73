"""Every setting, whole and validated: environment variables with the prefix `ROOMKEEPER_` and `__` between levels.

`load()` is the only reader of the environment. A bad value raises `Misconfigured` with one line naming the variable; an
empty one counts as not set.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from runtime.dsn import Dsn
from runtime.variables import NESTING, PREFIX, objections
from schemas.errors import Misconfigured

Seconds = Annotated[float, Field(gt=0)]


class Section(BaseModel):
    """A frozen group of settings; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class KafkaSettings(Section):
    """How to reach the broker, and how topics are named."""

    bootstrap_servers: str | None = Field(None, description="host:port list; empty means the embedded or Docker broker")
    topic_prefix: str = Field("", pattern=r"^[a-z0-9._-]*$", description="put before every topic, group and app name")
    replication: int | None = Field(
        None, ge=1, description="replicas of topics that `topics apply` makes; empty means what topics.yaml says"
    )
    min_insync_replicas: int | None = Field(None, ge=1, description="empty means what topics.yaml says")
    partitions: int | None = Field(
        None, ge=1, description="overrides the partition count of event topics; fixed at birth"
    )
    security: dict[str, str] = Field(
        default_factory=dict, description="librdkafka security settings, such as sasl.mechanism"
    )


class PostgresSettings(Section):
    """How to reach the database."""

    dsn: Dsn | None = Field(None, description="libpq URL; empty means the embedded or Docker database")
    pool_size: int = Field(8, ge=1, le=100)
    statement_timeout_seconds: Seconds = 30.0


class WebhookSecret(Section):
    """One signing secret of an account's Zoom app."""

    value: SecretStr = Field(min_length=1)
    expires_at: datetime | None = Field(None, description="end of a rotation's overlap; empty means it stays")


class Account(Section):
    """One Zoom account: the tenant, with its app's secrets."""

    account_id: str = Field(min_length=1, max_length=64)
    webhook_secrets: tuple[WebhookSecret, ...] = Field((), description="the first that is active is the primary one")
    client_id: str | None = None
    client_secret: SecretStr | None = None
    gateway: bool = Field(False, description="whether Roomkeeper may call Zoom for this account")
    api_url: str | None = Field(None, description="REST base; empty means what the token says, or https://api.zoom.us")
    token_url: str = "https://zoom.us/oauth/token"  # noqa: S105 - an address, not a secret
    plan: str = Field("pro", pattern="^(free|pro|business)$")
    tracking_field: str | None = Field(None, description="name of the account's tracking field for the provider key")


class IngressSettings(Section):
    """The HTTP side."""

    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535, description="0 takes a free one")
    max_body_bytes: int = Field(
        700_000, ge=1024, le=700_000, description="of a webhook; sealed as a dead letter it still fits Kafka's 1 MB"
    )
    max_request_bytes: int = Field(65_536, ge=1024, le=1_048_576, description="of a request to /v1")
    max_connections: int = Field(4_000, ge=1, description="one more is closed unanswered, and Zoom sends again")
    receive_timeout_seconds: Seconds = Field(5.0, description="a request that takes longer to come is cut off")
    signature_window_seconds: int = Field(300, ge=1)
    produce_timeout_seconds: float = Field(2.0, gt=0, le=2.4, description="then 503; Zoom waits 3 s")
    max_in_flight: int = Field(2_000, ge=1, description="requests waiting for the broker; more are answered 503")
    max_wait_seconds: int = Field(30, ge=0, le=30, description="upper bound of Prefer: wait")
    max_waiting: int = Field(1_000, ge=0, description="requests in Prefer: wait; more are answered 202 at once")
    page_size: int = Field(50, ge=1, le=200)
    key_cache_seconds: float = Field(3.0, gt=0, le=5, description="so long a revoked API key may still work")


class StreamsSettings(Section):
    """The Faust workers."""

    data_dir: Path = Path("data/streams")
    app_id: str = Field(
        "roomkeeper-streams", description="consumer group, and prefix of changelogs and transactional ids"
    )
    instance_id: str | None = Field(None, description="static group member: the pod's stable name")
    generation: int = Field(0, ge=0, description="raised by a refold")
    transaction_events: int = Field(10_000, ge=1, description="a transaction ends when it holds so many records,")
    transaction_seconds: Seconds = Field(0.1, description="or when it is so old, whichever comes first")
    transaction_timeout_seconds: Seconds = Field(
        60.0, description="after so long the broker aborts one whose owner is gone"
    )
    commit_timeout_seconds: Seconds = Field(30.0, description="a commit that takes longer ends the process")
    backlog_records: int = Field(10_000, ge=1, description="fetched and not yet folded, per partition")
    poll_records: int = Field(2_000, ge=1, description="most records of one fetch")
    cache_entries: int = Field(
        2_000, ge=1, description="decoded entries kept per partition of a table, and up to twice as many"
    )
    session_timeout_seconds: Seconds = 10.0
    heartbeat_seconds: Seconds = 2.0
    rebalance_timeout_seconds: Seconds = 30.0
    request_timeout_seconds: Seconds = 40.0
    stall_seconds: Seconds = Field(60.0, description="no progress under lag for so long ends the process")
    stop_seconds: Seconds = Field(15.0, description="a stop that takes longer is made short")
    dead_letter_share: float = Field(
        0.5, gt=0, le=1, description="more than this share of bad messages, in a window, stops the worker"
    )
    dead_letter_window: int = Field(1_000, ge=1, description="messages in a window")
    dead_letter_run: int = Field(1_000, ge=1, description="run length of bad messages that stops the worker")
    fail_point: str | None = Field(
        None, description="named point at which the process ends itself; for crash tests only"
    )


class ProjectorSettings(Section):
    """Kafka to PostgreSQL."""

    batch_records: int = Field(2_000, ge=1)
    batch_seconds: Seconds = Field(0.02, description="how long a batch waits for company")
    hold_backoff_seconds: tuple[float, float] = Field(
        (0.2, 5.0), description="first and longest wait while the database or the broker is away"
    )
    stall_seconds: Seconds = Field(60.0, description="no progress under lag for so long ends the process")
    dead_letter_run: int = Field(
        1_000, ge=1, description="so many bad records of a partition in a row stop the process"
    )


class DeadLetterSettings(Section):
    """Dead letters and their way back."""

    held_after_returns: int = Field(3, ge=1, description="so many returns, and a message is replayed on request only")
    confirm_above: int = Field(100, ge=0, description="a command that would change more dead letters asks first")


class RoomSettings(Section):
    """The room worker."""

    claim_rows: int = Field(50, ge=1, le=50)
    lease_seconds: Seconds = 120.0
    settle_seconds: float = Field(
        120.0, ge=0, description="look-ups for a room of unknown fate are spread over so long"
    )
    concurrency: int = Field(
        8, ge=1, description="requests called for at once by one process, which claims as many again ahead"
    )
    call_attempts: int = Field(4, ge=1, description="tries within one call")
    call_backoff_seconds: tuple[float, float] = (0.3, 5.0)
    keep_backoff_seconds: tuple[float, float, float] = Field(
        (0.5, 60.0, 900.0), description="first, early limit, limit"
    )
    call_timeout_seconds: Seconds = 15.0
    poll_seconds: Seconds = Field(1.0, description="how often due rows are looked for when no notification comes")
    retried_after_seconds: Seconds = Field(600.0, description="a row settled so long ago and still there is due again")
    unsure_seconds: Seconds = Field(
        1_200.0, description="a room in doubt is read back for so long; longer than any call lasts"
    )
    read_back_seconds: Seconds = Field(60.0, description="time between two read-backs of a room in doubt")
    sweep_seconds: Seconds = Field(600.0, description="time between two sweeps of a host's list")
    drift: Literal["report", "restore", "accept"] = Field(
        "report", description="what is done about a room that somebody changed or deleted in Zoom"
    )
    restores_daily: int = Field(
        2, ge=0, description="a room is restored at most so often a day, so that no loop uses up the host's budget"
    )
    produce_timeout_seconds: Seconds = Field(
        10.0, description="how long an outcome waits for the broker before it is sent again"
    )


class PollerSettings(Section):
    """The poller: when a room lags, and how much is asked."""

    interval_seconds: Seconds = Field(300.0, description="time between two passes; a longer pass ends then")
    rooms: int = Field(250, ge=1, le=250, description="rooms asked about in one pass, the worst first")
    share: float = Field(
        0.25, gt=0, le=1, description="share of the account's calls, of those that Roomkeeper takes, for the poller"
    )
    concurrency: int = Field(4, ge=1, description="rooms asked about at once")
    succession_seconds: float = Field(30.0, gt=0, le=50, description="a leader that is silent for so long is succeeded")
    start_seconds: Seconds = Field(600.0, description="a meeting that has not begun so long after its start lags")
    overrun_seconds: Seconds = Field(
        900.0, description="a run without an end lags so long after the end it should have had"
    )
    unheard_seconds: Seconds = Field(3_600.0, description="a room of which no webhook told so long after it was made")
    settings_seconds: Seconds = Field(
        86_400.0, description="settings, which lists do not show, are read so often in the day before a meeting"
    )
    list_seconds: Seconds = Field(1_800.0, description="time between two looks at a host's list")
    past_seconds: Seconds = Field(
        120.0, description="Zoom's past data lags: a run is compared with it so long after its end"
    )
    open_seconds: Seconds = Field(
        120.0, description="somebody's stay without an end lags so long after the end of the run"
    )
    recheck_seconds: Seconds = Field(
        86_400.0, description="the list of past runs of a room in use is read so often, for runs that nobody told of"
    )
    changed_seconds: float = Field(0.0, ge=0, description="a room that is known to have changed lags after so long")
    deleted_seconds: float = Field(0.0, ge=0, description="a room that Zoom does not show lags after so long")
    horizon_seconds: Seconds = Field(604_800.0, description="what happened longer ago is not asked about any more")
    refused_seconds: Seconds = Field(
        86_400.0, description="what Zoom refuses for an account's plan is not asked again for so long"
    )
    gap_seconds: Seconds = Field(1_800.0, description="a shorter silence of an account or host is never a gap")
    gap_chance: float = Field(
        0.02, gt=0, lt=1, description="a silence less likely than this, by the habit of its hours, is a gap"
    )
    produce_timeout_seconds: Seconds = Field(10.0, description="how long an observation waits for the broker")


class ZoomSettings(Section):
    """Zoom's limits, and what to do when it fails."""

    rate_share: float = Field(
        0.9,
        gt=0,
        le=1,
        description="share of the account's calls per second that Roomkeeper takes; other apps share them",
    )
    rate_wait_seconds: Seconds = Field(
        5.0, description="a call that would have to wait longer for its turn is kept for later"
    )
    host_daily: int = Field(100, ge=1, le=100, description="creates and updates of one host a day, by Zoom's rule")
    breaker_failures: int = Field(5, ge=1, description="failures in a row that open an account's circuit breaker")
    breaker_seconds: Seconds = Field(15.0, description="how long an open breaker lets nobody through")


class Outbox(Section):
    """A caller's own database with an outbox in it."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="names the caller in records and logs")
    account_id: str = Field(min_length=1, max_length=64, description="account of every command that comes from it")
    dsn: Dsn = Field(description="libpq URL of the caller's database")


class SecuritySettings(Section):
    """Keys that Roomkeeper itself holds."""

    encryption_keys: tuple[SecretStr, ...] = Field(
        (), description="Fernet keys, newest first; protects tokens and unreadable bytes at rest"
    )


class ClockSettings(Section):
    """For tests that move all processes' clocks alike."""

    shift_seconds: float = 0.0


class LogSettings(Section):
    """Log output: pretty on a terminal, JSON elsewhere."""

    level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    format: str = Field("auto", pattern="^(auto|pretty|json)$")


class MetricsSettings(Section):
    """Where /metrics of a role without HTTP of its own is served."""

    host: str = "127.0.0.1"
    port: int | None = Field(None, ge=0, le=65535, description="empty means off, 0 takes a free one")


class EmbeddedSettings(Section):
    """The broker and database that Roomkeeper brings itself."""

    data_dir: Path = Path("data/embedded")
    cache_dir: Path = Field(Path("~/.cache/roomkeeper"), description="where Kafka's jars are kept once fetched")
    kafka_heap_mb: int = Field(512, ge=128)
    docker: str = Field(
        "auto", pattern="^(auto|never|always)$", description="whether a reachable Docker engine is used"
    )


class Settings(BaseSettings):
    """All settings of all roles."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter=NESTING,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        env_file=None,
    )

    kafka: KafkaSettings = KafkaSettings()
    postgres: PostgresSettings = PostgresSettings()
    accounts: tuple[Account, ...] = Field((), description="JSON list of accounts")
    ingress: IngressSettings = IngressSettings()
    streams: StreamsSettings = StreamsSettings()
    projectors: ProjectorSettings = ProjectorSettings()
    dead_letters: DeadLetterSettings = DeadLetterSettings()
    rooms: RoomSettings = RoomSettings()
    poller: PollerSettings = PollerSettings()
    zoom: ZoomSettings = ZoomSettings()
    outboxes: tuple[Outbox, ...] = Field((), description="JSON list of callers' databases whose outbox is relayed")
    security: SecuritySettings = SecuritySettings()
    clock: ClockSettings = ClockSettings()
    log: LogSettings = LogSettings()
    metrics: MetricsSettings = MetricsSettings()
    embedded: EmbeddedSettings = EmbeddedSettings()


def load() -> Settings:
    """The settings of this process.

    Raises:
        Misconfigured: a variable is unknown or does not hold; the message names each.
    """
    if wrong := list(objections(Settings, os.environ)):
        raise Misconfigured("; ".join(wrong))
    try:
        return Settings()
    except ValidationError as error:
        wrong = [f"{_variable(each['loc'])}: {each['msg'].removeprefix('Value error, ')}" for each in error.errors()]
        raise Misconfigured("; ".join(wrong)) from error


def _variable(location: tuple[int | str, ...]) -> str:
    return PREFIX + NESTING.join(str(part).upper() for part in location)
