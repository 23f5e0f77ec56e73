"""pgqueuer: so many jobs enqueued at once, then one worker until none is left. Prints `begin` and `end`."""

from __future__ import annotations

import asyncio
import sys

import asyncpg  # type: ignore[import-not-found]  # in the peers' own environment
import uvloop
from pgqueuer import AsyncpgPoolDriver, Job, PgQueuer, Queries  # type: ignore[import-not-found]  # as above
from pgqueuer.types import QueueExecutionMode  # type: ignore[import-not-found]  # as above

from bench.peers.arguments import mark


async def main(dsn: str, jobs: int, concurrency: int) -> None:
    """Enqueue the jobs, and work on them."""
    async with asyncpg.create_pool(dsn, min_size=5, max_size=20) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))
        await queries.install()
        for first in range(0, jobs, 1_000):
            count = min(1_000, jobs - first)
            await queries.enqueue(["call"] * count, [b"meeting"] * count, [0] * count)
        queuer = PgQueuer.from_asyncpg_pool(pool)

        @queuer.entrypoint("call")  # type: ignore[untyped-decorator]  # its types are not known here
        async def call(job: Job) -> None:
            """A provider that answers at once."""

        mark("begin")
        await queuer.run(mode=QueueExecutionMode.drain, batch_size=concurrency, max_concurrent_tasks=2 * concurrency)
        mark("end")


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
