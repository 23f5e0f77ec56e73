"""The containers: every role has a service with a health check, images are pinned, and nobody is root."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

from roomkeeper.cli import COMMANDS
from roomkeeper.embedded.containers import KafkaContainer, PostgresContainer
from roomkeeper.local.stack import ROLES
from runtime.database_roles import database_role, declared
from runtime.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose/compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PINNED = re.compile(r"[a-z/]+:\d+\.\d+(\.\d+)?(-[a-z-]+)?(@sha256:[0-9a-f]{64})?")
POM = {"p": "http://maven.apache.org/POM/4.0.0"}


EVERY_ROLE = {**ROLES, "outbox": ("outbox", "run")}
"""A local stack has no callers with outboxes; containers may."""


@pytest.mark.parametrize("role", list(EVERY_ROLE))
def test_every_role_is_a_service_that_is_watched(role: str) -> None:
    """It runs the role's command, starts after topics, tables and rights are there, and has a health check."""
    service = SERVICES[role]
    assert service["command"] == list(EVERY_ROLE[role])
    assert service["depends_on"] == {
        "topics": {"condition": "service_completed_successfully"},
        "roles": {"condition": "service_completed_successfully"},
    }
    assert service["healthcheck"]["test"]


@pytest.mark.parametrize("service", ["topics", "migrate"])
def test_topics_and_tables_are_made_once_broker_and_database_are_healthy(service: str) -> None:
    """They run to their end, and again at the next start."""
    assert SERVICES[service]["depends_on"] == {
        "kafka": {"condition": "service_healthy"},
        "postgres": {"condition": "service_healthy"},
    }
    assert SERVICES[service]["restart"] == "no"
    assert SERVICES[service]["command"][0] in COMMANDS


def test_rights_are_given_once_the_tables_are_there() -> None:
    """A migration may bring tables, so rights are given at each start."""
    assert SERVICES["roles"]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert SERVICES["roles"]["command"] == ["db", "roles"]


@pytest.mark.parametrize("role", list(EVERY_ROLE))
def test_a_role_logs_in_as_itself(role: str) -> None:
    """Its database role has a login and a password of its own; a role without rights in the database has no address."""
    dsn = SERVICES[role].get("environment", {}).get("ROOMKEEPER_POSTGRES__DSN", "")
    logins = (ROOT / "compose/logins.sh").read_text().partition("for role in ")[2].partition(";")[0].split()
    passwords = (ROOT / "compose/postgres.env.example").read_text()
    if role in declared():
        assert dsn.startswith(f"postgresql://{database_role(role)}:${{{role.upper()}_PASSWORD:?")
        assert role in logins
        assert f"\n{role.upper()}_PASSWORD=" in passwords
    else:
        assert (dsn, role in logins) == ("", False)


@pytest.mark.parametrize("service", ["kafka", "postgres"])
def test_foreign_images_are_pinned_and_watched(service: str) -> None:
    """No tag that moves, and others wait until they answer."""
    assert PINNED.fullmatch(SERVICES[service]["image"])
    assert SERVICES[service]["healthcheck"]["test"]


def test_the_database_is_told_its_passwords_alone() -> None:
    """The secrets of Zoom's apps and the encryption keys are the roles', and no other container's."""
    given = {name: service.get("env_file") for name, service in SERVICES.items() if not service.get("build")}
    lines = (ROOT / "compose/postgres.env.example").read_text().splitlines()
    assert given == {"kafka": None, "postgres": [".env"]}
    assert all(re.fullmatch(r"[A-Z]+_PASSWORD=change-me", line) for line in lines if not line.startswith("#"))


def test_everywhere_the_same_kafka_and_postgresql_are_meant() -> None:
    """Compose, the containers of the tests and the embedded broker agree on versions."""
    pom = ET.parse(ROOT / "roomkeeper/embedded/kafka/pom.xml")  # noqa: S314 - our own file
    embedded = {each.text for each in pom.iterfind(".//p:dependency[p:groupId='org.apache.kafka']/p:version", POM)}
    assert SERVICES["kafka"]["image"] == KafkaContainer.image
    assert SERVICES["postgres"]["image"] == PostgresContainer.image
    assert embedded == {KafkaContainer.image.partition(":")[2]}


def test_variables_of_the_services_are_settings() -> None:
    """A misspelled variable would stop a role; here it stops the test."""
    named = {name for service in SERVICES.values() for name in service.get("environment", {}) if "ROOMKEEPER" in name}
    known = {
        f"ROOMKEEPER_{section}__{field}".upper()
        for section, info in Settings.model_fields.items()
        for field in getattr(info.annotation, "model_fields", {})
    }
    assert named - known == set()


def test_the_example_of_secrets_is_one_that_roomkeeper_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copied as it is, the file holds settings of the right form."""
    for line in (ROOT / "compose/roomkeeper.env.example").read_text().splitlines():
        name, _, value = line.partition("=")
        if name.startswith("ROOMKEEPER_"):
            monkeypatch.setenv(name, value)
    settings = Settings()
    assert settings.accounts[0].account_id == "example"
    assert len(settings.security.encryption_keys) == 1


def test_the_image_is_built_in_stages_from_a_pinned_base_and_runs_as_nobody_special() -> None:
    """The compiler's stage stays behind, and the last stage gives up root."""
    stages = re.split(r"^FROM ", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)[1:]
    assert len(stages) == 2
    assert all(PINNED.match(stage) for stage in stages)
    assert re.findall(r"^USER (\S+)", stages[-1], re.MULTILINE) == ["roomkeeper"]
