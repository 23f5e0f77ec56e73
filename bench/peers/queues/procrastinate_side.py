"""procrastinate: so many jobs deferred at once, then one worker until none is left. Prints `begin` and `end`."""

from __future__ import annotations

import asyncio
import sys

import uvloop
from procrastinate import App, PsycopgConnector  # type: ignore[import-not-found]  # in the peers' own environment

from bench.peers.arguments import mark


async def main(dsn: str, jobs: int, concurrency: int) -> None:
    """Defer the jobs, and work on them."""
    app = App(connector=PsycopgConnector(conninfo=dsn, max_size=20))

    @app.task(name="call")  # type: ignore[untyped-decorator]  # its types are not known here
    async def call(meeting: int) -> None:
        """A provider that answers at once."""

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for first in range(0, jobs, 1_000):
            await call.batch_defer_async(*({"meeting": n} for n in range(first, min(first + 1_000, jobs))))
        mark("begin")
        await app.run_worker_async(wait=False, concurrency=concurrency, install_signal_handlers=False)
        mark("end")


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
