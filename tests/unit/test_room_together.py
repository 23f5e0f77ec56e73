"""Questions put together: one statement for all who ask at a moment, each with an answer of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from reconciler.rooms.together import Together
from schemas.errors import Broken, Misconfigured, RoomkeeperError, Unavailable


class Database:
    """Says of even claims that they hold, when it is let."""

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []
        self.go_on = asyncio.Event()
        self.error: RoomkeeperError | None = None

    async def ask(self, questions: Sequence[str]) -> set[int]:
        """Epochs that hold."""
        self.asked.append(questions)
        await self.go_on.wait()
        if self.error is not None:
            raise self.error
        return {epoch for epoch in range(10) if epoch % 2 == 0}


async def test_who_asks_meanwhile_goes_together() -> None:
    """The first is asked at once, those who come while it is under way with the next statement, each told its own."""
    database = Database()
    together = Together(database.ask)
    first = asyncio.create_task(together(0, "first"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    others = [asyncio.create_task(together(epoch, f"other {epoch}")) for epoch in (1, 2, 3)]
    await asyncio.sleep(0)
    database.go_on.set()
    answers = await asyncio.gather(first, *others)
    assert (database.asked, answers) == ([["first"], ["other 1", "other 2", "other 3"]], [True, False, True, False])


@pytest.mark.parametrize("error", [Unavailable("it is away"), Misconfigured("no right"), Broken("no such type")])
async def test_database_that_does_not_answer_is_told_to_everybody(error: RoomkeeperError) -> None:
    """Whatever the reason: work that waited in silence would never end. Whoever asks afterwards asks anew."""
    database = Database()
    database.go_on.set()
    database.error = error
    together = Together(database.ask)
    failed = await asyncio.gather(together(0, "a"), together(2, "b"), return_exceptions=True)
    database.error = None
    assert ([*failed, await together(2, "b")]) == [error, error, True]


async def test_asker_who_gives_up_spoils_nothing() -> None:
    """The others get their answers."""
    database = Database()
    together = Together(database.ask)
    impatient, patient = (asyncio.create_task(together(epoch, "x")) for epoch in (0, 2))
    await asyncio.sleep(0)
    impatient.cancel()
    database.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    assert await patient
