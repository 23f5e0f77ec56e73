"""What tests of dead letters start from: topics, a ledger, and a projection that cannot read some values yet."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from pydantic import SecretStr

from projectors.dead_letters import LedgerProjection
from runtime.cipher import new_key
from runtime.environment import environment_of
from runtime.settings import SecuritySettings, Settings
from runtime.topic_admin import TopicAdmin
from runtime.topics import load as load_topics
from tests.dlq import Dlq, Faulty, run_dlq
from tests.projecting import Running, prepare


@pytest.fixture
def ready(settings: Settings) -> Settings:
    """Settings with topics, a table for the tally, and a key for sealed bodies."""
    with_key = SecuritySettings(encryption_keys=(SecretStr(new_key()),))
    prepared = prepare(settings.model_copy(update={"security": with_key}))
    catalogue, admin = load_topics(), TopicAdmin(prepared.kafka)
    admin.apply(admin.plan(catalogue, catalogue.used_by("dlq")))
    return prepared


@pytest.fixture
def dlq(ready: Settings, monkeypatch: pytest.MonkeyPatch) -> Dlq:
    """Runs `roomkeeper dlq ...` in this process; its settings are this process's environment."""
    for name, value in environment_of(ready).items():
        monkeypatch.setenv(name, value)
    return partial(run_dlq, ready)


@pytest.fixture
def faulty(ready: Settings) -> Iterator[Faulty]:
    """A tally and the ledger, running."""
    projection = Faulty()
    ledger = LedgerProjection(topic_prefix=ready.kafka.topic_prefix, held_after_returns=3)
    projector = Running(ready, [projection, ledger])
    yield projection
    projector.close()
