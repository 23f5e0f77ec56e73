"""The room worker's loop: claim, call, report, settle.

Guarantees: nothing is sent to Zoom or reported as an outcome but under a claim that still holds; the outcome is in
Kafka before its row is settled; leases of everything in hand are renewed while it is worked on. A worker that dies at
any point leaves rows whose leases run out, and whoever takes them looks before it calls.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from typing import assert_never

import structlog

from reconciler.rooms.actions import Actions
from reconciler.rooms.chronicle import Chronicle
from reconciler.rooms.lease import Lease, LeaseLost
from reconciler.rooms.queue import Claimed, Queue, Request
from reconciler.rooms.reporting import LATE_REPORT, OUTCOME, Reporter
from reconciler.rooms.results import Concluded, Kept, Result
from reconciler.rooms.zoom import Job
from runtime.backoff import Backoff
from runtime.clock import Clock
from runtime.metrics.registry import Metrics
from runtime.randomness import Random
from runtime.settings import RoomSettings
from schemas.errors import Unavailable

STOP_SECONDS = 20.0
"""How long calls in hand may still take after a signal; a call that is cut off is looked after when its lease ends."""
PEOPLE_AT_ONCE = 30
"""Zoom takes so many registrants in one decision."""
RENEWALS_PER_LEASE = 4
"""A lease survives two renewals that fail."""
MOST_REPORTING = 300
"""Requests whose calls are over take nobody's place, but no more of them may wait for the broker and the database."""


class RoomWorker:
    """Works on requests of the accounts that have a gateway, and says of all others that nobody will call."""

    def __init__(
        self,
        *,
        queue: Queue,
        actions: Actions,
        reporter: Reporter,
        accounts: Sequence[str],
        settings: RoomSettings,
        clock: Clock,
        random: Random,
        metrics: Metrics | None = None,
    ) -> None:
        """`accounts` are those whose gateway to Zoom is switched on."""
        self._queue = queue
        self._actions = actions
        self._reporter = reporter
        self._accounts = accounts
        self._settings = settings
        self._clock = clock
        self._random = random
        self._chronicle = Chronicle(metrics or Metrics(), clock=clock)
        self._in_hand: dict[int, Request] = {}
        self._uncalled: set[int] = set()
        self._places = asyncio.Semaphore(settings.concurrency)
        self._ends = False
        self._bell = asyncio.Event()
        self._tell_at_seconds = 0.0
        self._trouble = Backoff(0.2, 5.0, random)
        self._log = structlog.get_logger("roomkeeper.rooms")

    @property
    def in_hand(self) -> Collection[Request]:
        """Claimed requests that are not finished yet."""
        return self._in_hand.values()

    async def run_once(self) -> int:
        """Claim what is due, work on it, and say how many requests that were.

        Raises:
            Unavailable: the database is away.
        """
        await self._tell_unavailable()
        claimed = await self._claim(self._settings.claim_rows)
        async with asyncio.TaskGroup() as group:
            renewing = group.create_task(self._renew_for_ever())
            working = [group.create_task(self._work(each)) for each in claimed]
            if working:
                await asyncio.wait(working)
            renewing.cancel()
        return len(claimed)

    async def drain(self) -> int:
        """Work until nothing is due any more, and say how many requests that were."""
        done = 0
        while worked := await self.run_once():
            done += worked
        return done

    async def run(self, *, bell: asyncio.Event, stop: asyncio.Event) -> None:
        """Work at once when `bell` rings, else every `poll_seconds`.

        After `stop` calls that are under way are finished, and what was not called for yet is given back.
        The bell is rung from here too, when there is room for more.
        """
        self._bell = bell
        async with asyncio.TaskGroup() as group:
            renewing = group.create_task(self._renew_for_ever())
            working: set[asyncio.Task[None]] = set()
            while not stop.is_set():
                bell.clear()
                claimed = await self._claim_when_possible(self._free_places())
                for each in claimed:
                    task = group.create_task(self._work(each))
                    working.add(task)
                    task.add_done_callback(working.discard)
                if not claimed:
                    await self._pause(bell)
            self._let_go()
            if working:
                _, late = await asyncio.wait(working, timeout=STOP_SECONDS)
                for task in late:
                    task.cancel()
            renewing.cancel()

    async def renew(self) -> None:
        """Prolong the leases of everything in hand.

        Raises:
            Unavailable: the database is away.
        """
        await self._queue.renew(list(self._in_hand.values()))

    def _free_places(self) -> int:
        """How many more may be claimed; none while too many wait for the broker.

        As many as are called for at once, and as many again: they take the places that become free.
        """
        most = 2 * self._settings.concurrency
        return min(most - len(self._uncalled), most + MOST_REPORTING - len(self._in_hand))

    async def _claim_when_possible(self, free: int) -> Sequence[Claimed]:
        """Claims for so many places; none while the database or the broker is away."""
        if free <= 0:
            return ()
        try:
            overdue = self._clock.monotonic_seconds() >= self._tell_at_seconds
            if overdue:
                await self._tell_unavailable()
            claimed = await self._claim(min(free, self._settings.claim_rows))
            if not claimed and not overdue:
                await self._tell_unavailable()
        except Unavailable as error:
            self._log.warning("rooms.unavailable", error=str(error))
            await asyncio.sleep(self._trouble.next_seconds(at_least=0.1))
            return ()
        self._trouble.reset()
        return claimed

    async def _pause(self, bell: asyncio.Event) -> None:
        """Until the bell rings, or it is time to look again."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.poll_seconds):
                await bell.wait()

    async def _renew_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._settings.lease_seconds / RENEWALS_PER_LEASE)
            try:
                await self.renew()
            except Unavailable as error:
                self._log.warning("rooms.leases_not_renewed", error=str(error))

    async def _claim(self, rows: int) -> Sequence[Claimed]:
        return self._took(await self._queue.claim(self._accounts, rows=rows))

    def _took(self, claimed: Sequence[Claimed]) -> Sequence[Claimed]:
        self._in_hand.update({each.request.epoch: each.request for each in claimed})
        self._uncalled.update(each.request.epoch for each in claimed)
        self._chronicle.claimed(each.request for each in claimed)
        return claimed

    async def _work(self, claimed: Claimed) -> None:
        jobs = [self._job(claimed)]
        try:
            async with self._places:
                began = self._clock.monotonic_seconds()
                if self._ends:
                    results: Sequence[Result] = [self._untouched(jobs[0])]
                else:
                    if claimed.request.decides:
                        jobs += [self._job(each) for each in await self._siblings(claimed)]
                    results = await self._results(jobs)
            self._give_places(jobs)
            for job, result in zip(jobs, results, strict=True):
                await self._finish(job, result)
                self._chronicle.finished(job.request, result, seconds=self._clock.monotonic_seconds() - began)
        finally:
            self._give_places(jobs)
            for job in jobs:
                self._in_hand.pop(job.request.epoch, None)

    def _give_places(self, jobs: Sequence[Job]) -> None:
        """Nothing is called for these any more: others may be claimed."""
        self._uncalled.difference_update(job.request.epoch for job in jobs)
        self._bell.set()

    def _let_go(self) -> None:
        """Nobody waits for a place any more; nothing that had none is called for."""
        self._ends = True
        for _ in self._uncalled:
            self._places.release()

    def _untouched(self, job: Job) -> Kept:
        message = "The process that had claimed it was stopped before it called."
        return Kept(due_at=self._clock.now(), code="stopped", message=message, counted=False, looks=job.request.looks)

    async def _siblings(self, claimed: Claimed) -> Sequence[Claimed]:
        """Rows that one call can serve together with this one; none while the database is away."""
        try:
            return self._took(await self._queue.claim_siblings(claimed.request, rows=PEOPLE_AT_ONCE - 1))
        except Unavailable:
            return ()

    def _job(self, claimed: Claimed) -> Job:
        lease = Lease(self._queue, claimed.request)
        return Job(request=claimed.request, meeting=claimed.meeting, lease=lease, registrant=claimed.registrant)

    async def _results(self, jobs: Sequence[Job]) -> Sequence[Result]:
        try:
            if jobs[0].request.decides:
                return await self._actions.decide(jobs)
            return [await self._actions.work(jobs[0])]
        except LeaseLost:
            lost = Kept(due_at=self._clock.now(), code="lease_lost", message="", outcome="unknown")
            return [lost for _ in jobs]
        except Unavailable as error:
            self._log.warning("rooms.waiting", provider_key=jobs[0].request.provider_key, error=str(error))
            return [self._interrupted(job, error) for job in jobs]

    def _interrupted(self, job: Job, error: Unavailable) -> Kept:
        """The database went away in the middle: whether something had been sent, the row or its next claim knows."""
        return Kept(
            due_at=self._clock.now(),
            code="unavailable",
            message=str(error),
            counted=False,
            looks=job.request.looks,
            unknown_at=self._clock.now() if job.lease.acted else None,
        )

    async def _finish(self, job: Job, result: Result) -> None:
        """Report and settle, or keep; again and again while the broker or the database is away."""
        backoff = Backoff(0.2, 5.0, self._random)
        while True:
            try:
                match result:
                    case Concluded():
                        await self._conclude(job, result)
                    case Kept():
                        await self._keep(job, result)
                    case _:
                        assert_never(result)
                return
            except Unavailable as error:
                self._log.warning("rooms.waiting", provider_key=job.request.provider_key, error=str(error))
                await asyncio.sleep(backoff.next_seconds(at_least=0.1))

    async def _conclude(self, job: Job, concluded: Concluded) -> None:
        if not await job.lease.is_held():
            await self._report_late(job, concluded)
            return
        if concluded.doubtful:
            await self._queue.doubt(job.request)  # first: a worker that dies here leaves too much doubt, not too little
        await self._reporter.conclude(job.request, concluded, kind=OUTCOME, email=_email(job))
        await self._queue.settle(job.request, concluded)

    async def _keep(self, job: Job, kept: Kept) -> None:
        if kept.park is not None:
            await self._queue.park(job.request.account_id, kept.park)
        if await job.lease.is_held():
            await self._queue.keep(job.request, kept)
        elif not kept.harmless:
            zoom_id = job.request.zoom_id
            await self._report_late(job, Concluded(outcome="unknown", zoom_id=zoom_id))

    async def _report_late(self, job: Job, concluded: Concluded) -> None:
        """Another worker has the row; what this one may have done to rooms must still be known."""
        if job.lease.acted:
            await self._reporter.conclude(job.request, concluded, kind=LATE_REPORT, email=_email(job))

    async def _tell_unavailable(self) -> None:
        """Say once of each request without a gateway that it waits for one; while work abounds, not at each look."""
        self._tell_at_seconds = self._clock.monotonic_seconds() + self._settings.poll_seconds
        for request, email in await self._queue.claim_unavailable(self._accounts, rows=self._settings.claim_rows):
            told = Concluded(
                outcome="provider_unavailable",
                error_code="provider_unavailable",
                error_message="No gateway to Zoom is configured for this account, or it is switched off.",
            )
            await self._reporter.conclude(request, told, kind=OUTCOME, email=email)
            waits = Kept(
                due_at=self._clock.now(),
                code="provider_unavailable",
                message=told.error_message or "",
                outcome="provider_unavailable",
                counted=False,
                looks=request.looks,
            )
            await self._queue.keep(request, waits)


def _email(job: Job) -> str | None:
    return job.registrant.email if job.registrant else None
