"""Workers killed, frozen, joined, stopped and robbed of their disk and broker, at random, while events come in.

`python -m tests.streams.chaos --rounds 30 --seed 7` runs it on a broker of its own. A seed names its sequence of blows;
before them the broker is away for half a minute.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from pydantic import SecretStr
from rich.console import Console

from roomkeeper.embedded.backing import Backing, Server
from runtime.settings import EmbeddedSettings, KafkaSettings, PostgresSettings, Settings
from tests.streams.bench import Bench, Worker, counting_bench
from tests.streams.kills import kill_at_each_point
from tests.waiting import wait_for

SESSION_SECONDS = 6.0
"""The least that a broker takes by default."""
LONG_OUTAGE_SECONDS = 30.0
SILENCE_SECONDS = 60.0
"""No worker may stand still for longer without a word."""


class Chaos:
    """A bench with up to three workers, and blows to them. Everything random comes from the seed."""

    def __init__(self, bench: Bench, broker: Server | None, *, seed: int, console: Console) -> None:
        """`broker` is None where it may not be touched."""
        self._bench = bench
        self._broker = broker
        self._random = random.Random(seed)  # noqa: S311 - blows, not secrets
        self._console = console
        self._stacks: dict[str, ExitStack] = {}
        self._workers: dict[str, Worker] = {}

    def run(self, *, rounds: int, events: int) -> None:
        """So many blows, then rest, judge, and judge again after a restart on the same and on an empty disk."""
        blows: list[Callable[[], str]] = [self.kill, self.kill, self.freeze, self.leave, self.join]
        if self._broker is not None:
            blows += [self.broker_freezes, self.broker_dies]
        self._start("one")
        self._feed(events)
        if self._broker is not None:
            blow = self._broker_away(self._broker, LONG_OUTAGE_SECONDS)
            wait_for(self._goes_on_or_ends, what="all folded, or an end with a reason", within_seconds=SILENCE_SECONDS)
            self._console.print(f"  0 {blow}; lag {self._bench.lag()}")
            self._mourn()
        for number in range(rounds):
            self._feed(events)
            self._pause(0.5, 4.0)
            name = self._random.choice(blows)()
            self._console.print(f"{number + 1:>3} {name}; lag {self._bench.lag()}")
            self._mourn()
        self.finish()

    def finish(self) -> None:
        """Everything is folded, and everything once; also seen from the same and from an empty disk."""
        self._mourn()
        self._bench.wait_until_done(within_seconds=180)
        self._bench.judge()
        self.close()
        for disk in ("one", f"empty-{uuid.uuid4().hex[:6]}"):
            self._feed(200)
            with self._bench.worker(disk) as worker:
                worker.wait_until_ready()
                self._bench.wait_until_done(worker)
            self._bench.judge()

    def close(self) -> None:
        """Stop all workers."""
        for stack in self._stacks.values():
            stack.close()
        self._stacks.clear()
        self._workers.clear()

    def kill(self) -> str:
        """SIGKILL for one; it comes back, on the same disk or an empty one."""
        name = self._any()
        self._workers[name].process.kill()
        empty = self._random.random() < 0.5
        self._start(name, disk=f"{name}-{uuid.uuid4().hex[:6]}" if empty else None)
        return f"killed {name}, back on {'an empty' if empty else 'the same'} disk"

    def freeze(self) -> str:
        """SIGSTOP for one, longer than its session, while another takes over; then SIGCONT."""
        name = self._any()
        process = self._workers[name].process
        process.pause()
        seconds = self._pause(SESSION_SECONDS + 1, SESSION_SECONDS + 9)
        process.resume()
        return f"froze {name} for {seconds:.0f} s"

    def leave(self) -> str:
        """SIGTERM for one."""
        name = self._any()
        self._stop(name)
        return f"{name} left"

    def join(self) -> str:
        """One more, if there are less than three."""
        free = [name for name in ("one", "two", "three") if name not in self._workers]
        if not free:
            return "nobody to join"
        self._start(free[0])
        return f"{free[0]} joined"

    def broker_freezes(self) -> str:
        """The broker answers nobody for a while."""
        assert self._broker is not None
        self._broker.pause()
        seconds = self._pause(3.0, 20.0)
        self._broker.resume()
        return f"broker frozen for {seconds:.0f} s"

    def broker_dies(self) -> str:
        """The broker is killed and comes back."""
        assert self._broker is not None
        return self._broker_away(self._broker, self._random.uniform(1.0, 20.0))

    def _goes_on_or_ends(self) -> bool:
        return self._bench.lag() == 0 or any(each.process.exit_code() is not None for each in self._workers.values())

    def _broker_away(self, broker: Server, seconds: float) -> str:
        broker.kill()
        time.sleep(seconds)  # the length of a blow
        broker.start()
        return f"broker away for more than {seconds:.0f} s"

    def _feed(self, events: int) -> None:
        self._bench.feed(events)
        self._bench.feed(events // 4, name="b")
        self._bench.feed(5, do={"do": "bad"})

    def _any(self) -> str:
        if not self._workers:
            self._start("one")
        return self._random.choice(sorted(self._workers))

    def _start(self, name: str, *, disk: str | None = None) -> None:
        self._stop(name)
        stack = ExitStack()
        self._workers[name] = stack.enter_context(self._bench.worker(disk or name))
        self._stacks[name] = stack

    def _stop(self, name: str) -> None:
        if name in self._stacks:
            self._stacks.pop(name).close()
            del self._workers[name]

    def _mourn(self) -> None:
        """A worker that ended must have said why; a supervisor would start it again."""
        for name, worker in list(self._workers.items()):
            if worker.process.exit_code() is not None:
                reasons = [*worker.said("streams.ends"), *worker.said("watchdog.ends")]
                stopped = "the stop took too long" in worker.log.read_text(errors="replace")
                assert reasons or stopped, f"{name} ended without a reason: {worker.log}"
                self._console.print(f"    {name} had ended: {reasons[-1]['reason'] if reasons else 'a stop that hung'}")
                self._start(name)
        if not self._workers:
            self._start("one")

    def _pause(self, least: float, most: float) -> float:
        seconds = self._random.uniform(least, most)
        time.sleep(seconds)  # the length of a blow, not a wait for something
        return seconds


def bench_for_chaos(settings: Settings, folder: Path) -> Bench:
    """Two sources with different partition counts, so with lanes of their own, and short sessions and transactions."""
    kafka = settings.kafka.model_copy(update={"topic_prefix": f"chaos{uuid.uuid4().hex[:6]}-"})
    streams = settings.streams.model_copy(
        update={
            "session_timeout_seconds": SESSION_SECONDS,
            "heartbeat_seconds": 1.0,
            "transaction_events": 700,
            "cache_entries": 40,
        }
    )
    own = settings.model_copy(update={"kafka": kafka, "streams": streams})
    bench = Bench(settings=own, folder=folder, names=("a", "b"), partitions={"a": 4, "b": 3})
    bench.create_topics()
    return bench


def _kills(settings: Settings, folder: Path, console: Console) -> None:
    """Every fail point, restarted on the same disk, and again on an empty one."""
    for title, disk_of in (("the same disk", lambda _: "same"), ("empty disks", lambda number: f"empty-{number}")):
        kafka = settings.kafka.model_copy(update={"topic_prefix": f"kills{uuid.uuid4().hex[:6]}-"})
        own = folder / title.replace(" ", "-")
        own.mkdir()
        bench = counting_bench(settings.model_copy(update={"kafka": kafka}), own, "a", "b", a=2, b=2)
        kill_at_each_point(bench, disk_of)
        console.print(f"kills: every point, restarted on {title}: each event once")


def main() -> None:
    """The whole of it, on a broker of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--events", type=int, default=4_000)
    parser.add_argument("--no-kills", action="store_true", help="leave out the kills at every point")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    given = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="roomkeeper-chaos-", ignore_cleanup_errors=True) as folder:
        embedded = EmbeddedSettings(data_dir=Path(folder) / "stack")
        nowhere = PostgresSettings(dsn=SecretStr("postgresql://unused.example.com/unused"))
        alone = Settings(kafka=KafkaSettings(), postgres=nowhere, embedded=embedded)
        backing = Backing(alone, durable=False)
        assert backing.broker is not None
        backing.broker.fetch()
        backing.broker.start()
        try:
            bench = bench_for_chaos(backing.settings, Path(folder))
            chaos = Chaos(bench, backing.broker, seed=given.seed, console=console)
            if not given.no_kills:
                _kills(backing.settings, Path(folder), console)
            console.print(f"chaos: seed {given.seed}, {given.rounds} rounds")
            try:
                chaos.run(rounds=given.rounds, events=given.events)
            finally:
                chaos.close()
            sent = sum(len(log) for log in bench.sent.values())
            console.print(f"chaos: {sent} events, each folded once, each output once; seed {given.seed}")
        finally:
            backing.broker.stop()


if __name__ == "__main__":
    main()
