"""Passes of the poller against a simulated Zoom and a real read model: what webhooks never told is found and mended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.settings import Settings
from tests.polling import PollingPlane, polling_plane


@pytest.fixture
def plane(settings: Settings) -> Iterator[PollingPlane]:
    """A plane of the test's own."""
    with polling_plane(settings) as made:
        yield made


def meet(plane: PollingPlane, number: int) -> None:
    """Two people meet for three quarters of an hour, one of them twice."""
    plane.clock.advance(seconds=60)
    plane.order(number, "start")
    ann = plane.join(number, "Ann")
    plane.clock.advance(minutes=5)
    plane.join(number, "Bob")
    plane.clock.advance(minutes=10)
    plane.order(number, f"people/{ann}/leave")
    plane.clock.advance(minutes=5)
    plane.join(number, "Ann")
    plane.clock.advance(minutes=25)
    plane.order(number, "end")


@pytest.mark.parametrize(
    "lost",
    ["meeting.started", "meeting.ended", "meeting.participant_joined", "meeting.participant_left", "meeting.[!c]*"],
)
async def test_what_was_lost_is_mended_in_a_pass(plane: PollingPlane, lost: str) -> None:
    """Whatever kind of webhook is lost, runs and attendance equal the truth after one pass."""
    number = plane.make()
    plane.drop(lost)
    meet(plane, number)
    plane.hear()
    plane.clock.advance(minutes=45)
    await plane.poll()
    assert plane.known_runs(number) == plane.true_runs(number)
    assert plane.known_people(number) == plane.true_people(number)
