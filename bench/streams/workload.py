"""The events of the benchmark and what must become of them.

The same seed gives the same events. One in ten arrives late, with a time before that of others of its meeting which
came first, so that a side which forgets the guard is found out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

from bench.streams.codec import Plain
from bench.streams.status import answer_to, is_newer, status_of

_STATUSES = ("created", "updated", "started", "joined", "left", "ended")
_FIRST_MS = 1_780_000_000_000
_LATE_SHARE = 0.1
_LATEST_MS = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """How many events, of how many meetings."""

    events: int
    meetings: int
    slow_events: int = 30_000
    """So many of them, the first, are for a side that would take minutes for all."""
    seed: int = 1

    @property
    def beginning(self) -> Workload:
        """Its first events alone."""
        return replace(self, events=min(self.events, self.slow_events))

    def __iter__(self) -> Iterator[Plain]:
        """The events in the order of their arrival."""
        chance = Random(self.seed)
        meetings = [meeting(number, seed=self.seed) for number in range(self.meetings)]
        for number in range(self.events):
            late_ms = chance.randrange(_LATEST_MS) if chance.random() < _LATE_SHARE else 0
            yield {
                "event_id": hashlib.md5(b"%d-%d" % (self.seed, number), usedforsecurity=False).hexdigest(),
                "status": chance.choice(_STATUSES),
                "happened_at_ms": _FIRST_MS + number * 7 - late_ms,
                **chance.choice(meetings),
            }


def meeting(number: int, *, seed: int) -> Plain:
    """What all events of a meeting say alike."""
    noise = hashlib.sha256(b"%d-%d" % (seed, number)).hexdigest()
    return {
        "meeting_id": str(81_000_000_000 + number),
        "topic": f"Weekly review {noise[:24]}",
        "host_email": f"host{number:06d}@example.com",
        "join_url": f"https://zoom.example.com/j/{81_000_000_000 + number}?pwd={noise[:32]}",
        "agenda": f"Agenda {noise} of meeting {number}",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a correct fold of the workload leaves behind."""

    answers: dict[str, Plain] = field(default_factory=dict)
    """By event id."""
    statuses: dict[str, Plain] = field(default_factory=dict)
    """By meeting id."""


def expect(workload: Workload) -> Expected:
    """Fold the workload in plain Python, without a framework."""
    expected = Expected()
    for event in workload:
        before = expected.statuses.get(event["meeting_id"])
        applied = is_newer(event, before)
        after = status_of(event) if applied or before is None else before
        expected.statuses[event["meeting_id"]] = after
        expected.answers[event["event_id"]] = answer_to(event, after=after, applied=applied)
    return expected
