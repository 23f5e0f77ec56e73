"""One statement for all who ask at a moment: questions to the database of a worker's many tasks, put together.

Guarantees: an answer is given after the question came, never from an earlier asking; each asker gets its own. While one
statement is under way the next questions gather, so that a busy worker asks seldom and an idle one without delay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")


class Together(Generic[Q]):
    """Asks the same of several claims at once; a claim is named by its epoch."""

    def __init__(self, ask: Callable[[Sequence[Q]], Awaitable[Container[int]]]) -> None:
        """`ask` gives the epochs of which it is true."""
        self._ask = ask
        self._waiting: list[tuple[int, Q, asyncio.Future[bool]]] = []
        self._asking: asyncio.Task[None] | None = None

    async def __call__(self, epoch: int, question: Q) -> bool:
        """Whether it is true of this claim.

        Raises:
            Unavailable: the database is away.
            RoomkeeperError: any other, as the statement raised it.
        """
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((epoch, question, answer))
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_on())
        return await answer

    async def _ask_on(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting, []
            try:
                true = await self._ask([question for _, question, _ in asked])
            except Exception as error:  # noqa: BLE001 - whatever it is, those who asked must hear of it
                for _, _, answer in asked:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            except BaseException:
                for _, _, answer in (*asked, *self._waiting):
                    answer.cancel()  # nobody may wait for an answer that never comes
                raise
            for epoch, _, answer in asked:
                if not answer.done():
                    answer.set_result(epoch in true)
