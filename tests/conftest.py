"""What every test can ask for: the stack of the run, a corner of it, or a stack to break."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.settings import KafkaSettings, PostgresSettings, Settings, load
from tests import effort
from tests.stack import Stack, quick_folder, running_stack

effort.register()


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """The broker and database of the run: the given addresses, else Docker's, else embedded ones."""
    with quick_folder() as folder, running_stack(load(), folder) as running:
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
    with quick_folder() as folder, running_stack(alone, folder) as running:
        yield running


@pytest.fixture
def private_stack(breakable_stack: Stack) -> Iterator[Stack]:
    """A stack that nobody else uses meanwhile: its broker and database may be stopped, killed and frozen."""
    yield breakable_stack
    breakable_stack.mend()
