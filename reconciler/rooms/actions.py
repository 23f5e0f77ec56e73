"""What is to be done about a request, by its action."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.rooms.creating import Creating
from reconciler.rooms.delays import Delays
from reconciler.rooms.keeping import Keeping
from reconciler.rooms.queue import Queue
from reconciler.rooms.registering import Registering
from reconciler.rooms.removing import Removing
from reconciler.rooms.results import Result
from reconciler.rooms.updating import Updating
from reconciler.rooms.zoom import Job, RoomCalls
from runtime.clock import Clock
from runtime.randomness import Random
from runtime.settings import RoomSettings
from schemas.errors import Broken


class Actions:
    """Works on one claimed request at a time."""

    def __init__(self, *, calls: RoomCalls, queue: Queue, settings: RoomSettings, clock: Clock, random: Random) -> None:
        """Calls through `calls`; `queue` knows of announced rooms."""
        delays = Delays(settings, clock=clock, random=random)
        keeping = Keeping(delays, clock=clock)
        self._creating = Creating(calls=calls, queue=queue, delays=delays, keeping=keeping, clock=clock)
        self._updating = Updating(calls=calls, keeping=keeping)
        self._registering = Registering(calls=calls, keeping=keeping)
        self._removing = Removing(calls=calls, queue=queue, delays=delays, keeping=keeping)

    async def decide(self, jobs: Sequence[Job]) -> list[Result]:
        """What comes of one decision about several registrants of a meeting, one for each.

        Raises:
            LeaseLost: the claim of one does not hold any more.
        """
        return await self._registering.decide(jobs)

    async def work(self, job: Job) -> Result:
        """Whatever comes of it.

        Raises:
            LeaseLost: the claim does not hold any more.
        """
        match job.request.action:
            case "create":
                return await self._creating.work(job)
            case "update":
                return await self._updating.work(job)
            case "cancel":
                return await self._removing.cancel(job)
            case "remove":
                return await self._removing.remove(job)
            case "register":
                return await self._registering.work(job)
            case action:
                raise Broken(f"a room request asks to {action}")
