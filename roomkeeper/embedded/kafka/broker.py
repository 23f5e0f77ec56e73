"""One Kafka broker in KRaft mode (broker and controller in one process), on two ports of 127.0.0.1."""

from __future__ import annotations

import base64
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from roomkeeper.embedded.kafka.configuration import single_broker
from roomkeeper.embedded.kafka.jars import kafka_jars
from roomkeeper.embedded.kafka.java import find_java
from roomkeeper.embedded.service import Service
from schemas.errors import Unavailable

_FORMAT_SECONDS = 120
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Without the optimising compiler and the parallel collector a start takes half the processor time: 3.7 s of 7.6 s.
That compiler would then take a fifth of a core for minutes, which on two cores the broker and all others wait for.
"""
_LASTING = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")


class EmbeddedKafka(Service):
    """A real broker; `bootstrap_servers` is its address once it has started."""

    name: ClassVar[str] = "kafka"
    port_count: ClassVar[int] = 2

    def __init__(self, folder: Path, *, cache_dir: Path, heap_mb: int, lasting: bool = False) -> None:
        """The topics live under `folder`; the jars are taken from, or fetched into, `cache_dir`.

        `lasting` is for full load: slower at first, faster after minutes.
        """
        super().__init__(folder)
        self._cache_dir = cache_dir.expanduser().absolute()
        self._heap_mb = heap_mb
        self._machine = _LASTING if lasting else _QUICK
        self._java = Path()
        self._jars = Path()
        self._probe: AdminClient | None = None

    @property
    def bootstrap_servers(self) -> str:
        """host:port of the broker."""
        return f"127.0.0.1:{self.ports[0]}"

    def fetch(self) -> None:
        """See that Java is there, and fetch the jars if they are not."""
        self._java = find_java()
        self._jars = kafka_jars(self._cache_dir)

    def _prepare(self) -> None:
        self.fetch()
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in self._configuration().items()))
        self._logging.write_bytes(files(__package__).joinpath("log4j2.xml").read_bytes())
        if not (self._topics / "meta.properties").exists():
            self._format()
        # librdkafka would report each refused connection of the probe; the probe's answer says it all.
        self._probe = AdminClient(
            {"bootstrap.servers": self.bootstrap_servers, "log_level": 0, "reconnect.backoff.max.ms": 200}
        )

    def _command(self) -> Sequence[str]:
        heap = (f"-Xms{min(128, self._heap_mb)}m", f"-Xmx{self._heap_mb}m")
        options = (*heap, "-XX:+ExitOnOutOfMemoryError", *self._machine)
        return self._run("kafka.Kafka", str(self._properties), options=options)

    def _answers(self) -> bool:
        if self._probe is None:
            return False
        try:
            answered = bool(self._probe.list_topics(timeout=1.0).brokers)
        except KafkaException:
            return False
        if answered:
            self._probe = None
        return answered

    def _format(self) -> None:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        # One word with its option: an id may begin with a hyphen.
        arguments = ("format", f"--cluster-id={cluster_id}", "--config", str(self._properties))
        command = self._run("kafka.tools.StorageTool", *arguments, options=_QUICK)
        done = subprocess.run(  # noqa: S603 - Kafka's own tool
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_FORMAT_SECONDS, check=False
        )
        if done.returncode != 0:
            raise Unavailable(f"Kafka's storage could not be formatted in {self._topics}: {done.stderr or done.stdout}")

    def _run(self, main_class: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self._logging.as_uri()}"
        return [str(self._java), *options, logging, "-cp", f"{self._jars}/*", main_class, *arguments]

    @property
    def _topics(self) -> Path:
        return self.folder / "topics"

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def _logging(self) -> Path:
        return self.folder / "log4j2.xml"

    def _configuration(self) -> Mapping[str, str]:
        broker, controller = (f"127.0.0.1:{port}" for port in self.ports)
        alone = single_broker(listen=broker, advertise=broker, controller=controller, voter=controller)
        return {**alone, "log.dirs": str(self._topics)}
