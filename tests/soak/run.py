"""One soak: what is asked for and what is done to workers and Zoom, in the order of the seed; then calm, then judgement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from runtime.randomness import Random, seeded
from runtime.settings import Settings
from tests.soak.faults import Order, account_day, daily_limits, outage, usual_faults
from tests.soak.pace import Pace
from tests.soak.plan import Plan, plan
from tests.soak.stage import WORKERS, Cast, Stage
from tests.soak.verdict import Verdict, judge
from tests.waiting import wait_for

Say = Callable[[int, int], None]
"""Takes how many meetings have what they want, and how many there are."""
Deed = tuple[float, Callable[[], None]]
"""Something to do at a moment, in seconds from the beginning."""
_OUTAGE_SECONDS = 3.0
_START_SECONDS = 40.0
"""Allowed to the processes' start before midnight can be placed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How long and how large a soak is."""

    meetings: int
    seconds: float
    """So long there are commands, faults and blows."""
    blow_every_seconds: tuple[float, float]
    pace: Pace
    accounts: tuple[str, ...] = ("acct-one", "acct-two")
    hosts: int = 40
    days: int = 1
    """With two, midnight comes three quarters through, daily limits are met before it, and Zoom is down for a while."""
    patience_seconds: float = 600.0
    """Within so long after the last blow all must be well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a soak went."""

    verdict: Verdict
    kills: int
    pauses: int
    struck: int
    """How often a fault struck in Zoom."""
    seconds: float

    @property
    def line(self) -> str:
        """The last line."""
        verdict = self.verdict
        return (
            f"soak: {verdict.meetings} meetings, {self.kills} kills, {verdict.missing} missing, {verdict.surplus} surplus, "
            f"{verdict.stale} stale, {verdict.made_in_excess} made in excess and removed, {self.pauses} pauses, "
            f"{self.struck} faults, at most {verdict.host_peak} calls of a host and day, {self.seconds:.0f} s"
        )


def soak(settings: Settings, folder: Path, *, seed: int, size: Size, say: Say) -> Outcome:
    """Run one; `settings` name a broker and a migrated database of its own.

    Raises:
        AssertionError: it does not come to rest in time.
    """
    began = time.monotonic()
    midnight = _START_SECONDS + 0.75 * size.seconds if size.days > 1 else None
    cast = Cast(accounts=size.accounts, hosts=size.hosts, seed=seed, midnight_in_seconds=midnight)
    with Stage(given=settings, pace=size.pace, cast=cast, folder=folder) as stage:
        run = _Run(stage, seed=seed, size=size, say=say)
        run.trouble()
        run.calm()
        return Outcome(
            verdict=run.judge(),
            kills=run.kills,
            pauses=run.pauses,
            struck=sum(stage.control("GET", "/stats")["faults_struck"].values()),
            seconds=time.monotonic() - began,
        )


class _Run:
    def __init__(self, stage: Stage, *, seed: int, size: Size, say: Say) -> None:
        self._stage, self._size, self._say = stage, size, say
        self._plan: Plan = plan(
            seeded(seed, "plan"),
            meetings=size.meetings,
            accounts=size.accounts,
            hosts=size.hosts,
            seconds=size.seconds,
            at=stage.clock.now(),
        )
        self._random: Random = seeded(seed, "blows")
        self._paused: set[str] = set()
        self.kills = self.pauses = 0

    def trouble(self) -> None:
        """Everything that is asked for and goes wrong, each at its moment."""
        self._stage.order(usual_faults(self._size.pace))
        self._stage.control("PUT", "/tokens", {"one_at_a_time": True})
        began = time.monotonic()
        for at_seconds, deed in sorted(self._deeds(), key=lambda each: each[0]):
            # The moment of a deed, not a wait for something.
            time.sleep(max(0.0, began + at_seconds - time.monotonic()))
            deed()

    def calm(self) -> None:
        """No more faults and blows; returns when nothing is to be done and every room was looked at since."""
        for worker in sorted(self._paused):
            self._stage.resume(worker)
        self._stage.control("DELETE", "/faults")
        self._stage.control("PUT", "/tokens", {"one_at_a_time": False})
        landed_at = self._now() + timedelta(seconds=self._size.pace.slow_seconds + 1.0)
        self._wait(lambda: self._now() > landed_at, "the last slow call has landed")
        self._wait(self._is_done, "all is done")
        self._stage.rows("UPDATE swept_hosts SET due_at = %s", self._now())
        self._wait(lambda: self._is_swept(landed_at) and self._is_read_back(landed_at), "the last sweep")
        self._wait(self._is_done, "all is done after the last sweep")

    def judge(self) -> Verdict:
        """What came of it."""
        meetings = {
            str(row["meeting_id"]): row
            for row in self._stage.rows("SELECT meeting_id, room_status, zoom_id FROM meetings")
        }
        return judge(
            self._plan.wishes,
            rooms=self._stage.control("GET", "/truth")["rooms"],
            meetings=meetings,
            host_peak=self._stage.control("GET", "/stats")["host_budget_peak"],
        )

    def _deeds(self) -> Iterator[Deed]:
        for asked in self._plan.asked:
            yield asked.at_seconds, partial(self._stage.send, asked.command)
        yield from self._blows()
        yield from self._thefts()
        seconds = self._size.seconds
        for share in (0.25, 0.5, 0.75, 1.0):
            yield share * seconds, self._tell
        if self._size.days > 1:
            limits = [*daily_limits(), *account_day(self._size.accounts[0])]
            yield from self._while_it_lasts(limits, since=0.2 * seconds, until=0.6 * seconds)
            yield from self._while_it_lasts(outage(), since=0.5 * seconds, until=0.5 * seconds + _OUTAGE_SECONDS)

    def _while_it_lasts(self, faults: Sequence[Order], *, since: float, until: float) -> Iterator[Deed]:
        """Faults of a part of the time; what has not struck by its end does not strike any more."""
        numbers: list[int] = []
        yield since, lambda: numbers.extend(self._stage.order(faults))
        yield until, lambda: self._stage.lift(numbers)

    def _blows(self) -> Iterator[Deed]:
        """Each worker is killed and frozen in turn, by lot."""
        least, most = self._size.blow_every_seconds
        lease = self._size.pace.rooms.lease_seconds
        at_seconds = self._random.uniform(least, most)
        while at_seconds < self._size.seconds:
            worker = self._random.choice(WORKERS)
            if self._random.random() < 0.6:
                yield at_seconds, partial(self._kill, worker)
            else:
                yield at_seconds, partial(self._pause, worker)
                awake_at = at_seconds + lease * self._random.uniform(1.1, 2.0)
                yield awake_at, partial(self._resume, worker)
            at_seconds += self._random.uniform(least, most)

    def _thefts(self) -> Iterator[Deed]:
        """Another app with the same credentials: its tokens and ours kill each other."""
        for number, account_id in enumerate(self._size.accounts * 3):
            at_seconds = self._size.seconds * (number + 1) / (3 * len(self._size.accounts) + 1)
            yield at_seconds, partial(self._stage.take_a_token, account_id)

    def _kill(self, worker: str) -> None:
        self._paused.discard(worker)
        self._stage.kill(worker)
        self.kills += 1

    def _pause(self, worker: str) -> None:
        self._paused.add(worker)
        self._stage.pause(worker)
        self.pauses += 1

    def _resume(self, worker: str) -> None:
        self._paused.discard(worker)
        self._stage.resume(worker)

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        wait_for(
            lambda: self._told(condition()), what=f"{what}; {self._left()}", within_seconds=self._size.patience_seconds
        )

    def _told(self, answer: bool) -> bool:
        self._tell()
        return answer

    def _tell(self) -> None:
        (row,) = self._stage.rows(_SERVED)
        self._say(int(row["served"]), self._size.meetings)

    def _is_done(self) -> bool:
        (row,) = self._stage.rows(_LEFT)
        return bool(row["meetings"] == self._size.meetings and not row["requests"])

    def _is_swept(self, since: datetime) -> bool:
        return not self._stage.rows("SELECT 1 FROM swept_hosts WHERE swept_at IS NULL OR swept_at < %s", since)

    def _is_read_back(self, since: datetime) -> bool:
        pause = timedelta(seconds=self._size.pace.rooms.read_back_seconds)
        return not self._stage.rows("SELECT 1 FROM unsure_meetings WHERE due_at < %s LIMIT 1", since + pause)

    def _left(self) -> str:
        return str(self._stage.rows(_LEFT))

    def _now(self) -> datetime:
        return self._stage.clock.now()


_SERVED = "SELECT count(*) AS served FROM meetings WHERE room_status IN ('ready', 'removed')"
_LEFT = "SELECT (SELECT count(*) FROM meetings) AS meetings, (SELECT count(*) FROM room_requests) AS requests"
