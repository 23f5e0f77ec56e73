"""What every test can ask for: the stack of the run, a corner of it, or a stack to break."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.settings import KafkaSettings, PostgresSettings, Settings, load
from tests import effort
from tests.stack import Stack, running_stack

effort.register()


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """The broker and database of the run: the given addresses, else Docker's, else embedded ones."""
    with (
        tempfile.TemporaryDirectory(prefix="roomkeeper-tests-") as folder,
        running_stack(load(), Path(folder)) as running,
    ):
        yield running


@pytest.fixture
def settings(stack: Stack) -> Iterator[Settings]:
    """Settings of one test: real addresses, a topic prefix and a migrated database of its own."""
    with stack.corner() as own:
        yield own


@pytest.fixture(scope="session")
def breakable_stack(stack: Stack) -> Iterator[Stack]:
    """The stack of the run where that was brought up for it; where addresses were given, one that is."""
    if stack.backing.broker is not None and stack.backing.database is not None:
        yield stack
        return
    alone = load().model_copy(update={"kafka": KafkaSettings(), "postgres": PostgresSettings()})
    with (
        tempfile.TemporaryDirectory(prefix="roomkeeper-tests-") as folder,
        running_stack(alone, Path(folder)) as running,
    ):
        yield running


@pytest.fixture
def private_stack(breakable_stack: Stack) -> Iterator[Stack]:
    """A stack that nobody else uses meanwhile: its broker and database may be stopped, killed and frozen."""
    yield breakable_stack
    breakable_stack.mend()
