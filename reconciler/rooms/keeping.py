"""What a reply that settles nothing means for its request: when it is due again, and whom not to call meanwhile."""

from __future__ import annotations

from datetime import timedelta

from reconciler.rooms.delays import Delays
from reconciler.rooms.results import Kept, Park
from reconciler.rooms.zoom import Job
from runtime.clock import Clock
from zoom.client.client import Reply
from zoom.client.decisions import Decision
from zoom.client.limits import Scope, midnight_after

ALERT_SECONDS = 60.0
"""While the app is not what it should be, calls are tried again so often: it heals by itself when somebody acts."""
TOKEN_SECONDS = 15.0
"""The same while no token is to be had."""
RESUME_SECONDS = 15.0
"""Within so long after a limit's end its calls come back: not all at once, and not before Zoom's own midnight."""
_CROWDED = frozenset({"breaker_open"})
_UNCOUNTED = frozenset({"token_unavailable", "breaker_open", "rate_budget", "in_progress"})
"""Reasons that say nothing of the request, and have a pause of their own."""
_RUNNING_STEPS = 6
"""A running meeting ends in its own time: its removal is tried again from half a minute on."""


class Keeping:
    """Turns replies into rows that wait."""

    def __init__(self, delays: Delays, *, clock: Clock) -> None:
        """`delays` says how long."""
        self._delays = delays
        self._clock = clock

    def after_write(self, job: Job, reply: Reply) -> Kept:
        """For a call that would have changed something."""
        if reply.ruling.decision is Decision.UNKNOWN or reply.sent:
            now = self._clock.now()
            due_at = self._delays.again_at(job.request.attempts, not_before=reply.not_before)
            if job.request.action == "create":
                due_at = self._delays.look_at(now, looks=0)
            return Kept(
                due_at=due_at,
                code=reply.code,
                message=reply.message,
                outcome="unknown",
                started=True,
                unknown_at=now,
                park=self._park(job, reply),
            )
        return self._harmless(job, reply)

    def after_look(self, job: Job, reply: Reply) -> Kept:
        """For a look that could not see everything. What was unknown stays so."""
        return Kept(
            due_at=self._delays.again_at(job.request.attempts, not_before=reply.not_before),
            code=reply.code,
            message=reply.message,
            looks=job.request.looks,
            park=self._park(job, reply),
        )

    def to_look_again(self, job: Job) -> Kept:
        """For a look that found nothing while it is too early to believe it."""
        unknown_at = job.request.unknown_at or self._clock.now()
        looks = job.request.looks + 1
        return Kept(
            due_at=self._delays.look_at(unknown_at, looks=looks),
            code="looking",
            message="The room of a call whose outcome is unknown is looked for.",
            outcome="unknown",
            counted=False,
            looks=looks,
            unknown_at=unknown_at,
        )

    def while_running(self, job: Job) -> Kept:
        """For a room that is not removed while people are in it."""
        return Kept(
            due_at=self._delays.again_at(job.request.attempts + _RUNNING_STEPS),
            code="in_progress",
            message="The room is in progress; it is removed when it has ended.",
            counted=False,
        )

    def _harmless(self, job: Job, reply: Reply) -> Kept:
        decision, reason = reply.ruling.decision, reply.ruling.reason
        counted = decision is Decision.RETRY and reason not in _UNCOUNTED
        park = self._park(job, reply)
        not_before = max(filter(None, (reply.not_before, park.until_at if park else None)), default=None)
        attempts = job.request.attempts + (_RUNNING_STEPS if reason == "in_progress" else 0)
        return Kept(
            due_at=self._delays.again_at(attempts, not_before=not_before),
            code=reply.code,
            message=reply.message,
            started=True,
            harmless=True,
            counted=counted,
            looks=job.request.looks,
            park=park,
        )

    def _park(self, job: Job, reply: Reply) -> Park | None:
        decision, now = reply.ruling.decision, self._clock.now()
        if decision is Decision.PARK and reply.scope is not Scope.REGISTRANT:
            until_at = self._delays.soon_after(reply.not_before or midnight_after(now), seconds=RESUME_SECONDS)
            scope = "host" if reply.scope is Scope.HOST else "account"
            host = job.request.host if scope == "host" else ""
            return Park(scope=scope, host=host, until_at=until_at, reason=reply.ruling.reason)
        if reply.ruling.reason in _CROWDED and reply.not_before is not None:
            return Park(scope="account", until_at=reply.not_before, reason=reply.ruling.reason)
        if decision in (Decision.ALERT, Decision.REFRESH) or reply.ruling.reason == "token_unavailable":
            pause = TOKEN_SECONDS if reply.ruling.reason == "token_unavailable" else ALERT_SECONDS
            until_at = now + timedelta(seconds=pause)
            return Park(scope="creates", until_at=until_at, reason=reply.ruling.reason)
        return None
