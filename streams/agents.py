"""The agents: one per fold, named as its table.

Each takes batches of raw records and hands them to the lane of their partition, which folds them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from faust.types import StreamT

from streams.engine.app import App
from streams.engine.batch import Batch
from streams.engine.transport import BatchSchema


def add_agents(app: App) -> None:
    """Declare an agent for each of the app's folds."""
    for topics in app.folds:
        channel = app.topic(topics.source, schema=BatchSchema(), partitions=topics.partitions)
        app.agent(channel, name=topics.fold.table)(_agent(app, topics.fold.table))


def _agent(app: App, table: str) -> Callable[[StreamT[Batch]], Awaitable[None]]:
    async def take(batches: StreamT[Batch]) -> None:
        async for batch in batches:
            app.observer.batch(table, records=len(batch.records))
            app.lanes.put(batch)

    return take
