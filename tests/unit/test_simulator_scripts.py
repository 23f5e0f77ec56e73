"""Scripts of meetings, as chance writes them: what was asked for is in them, in an order that Zoom's seconds can tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from runtime.randomness import seeded
from simulator import cast
from simulator.model import Host
from simulator.script import Act, Scenario, Step, write

HOST = Host(host_id="H1", email="host-01@example.com", name="Host 01", pmi=5_551_234_567)
GAP_SECONDS = 66.0
"""1.1 true seconds at speed 60."""


def script(scenario: Scenario, seed: int = 1) -> tuple[Step, ...]:
    """A script for the scenario."""
    known = scenario.people - 1 - scenario.anonymous
    people = cast.assemble(host=HOST, registrants=(), known=known, anonymous=scenario.anonymous)
    return write(scenario, cast=people, random=seeded(seed), gap_seconds=GAP_SECONDS)


def acts(steps: tuple[Step, ...]) -> Counter[Act]:
    """How often each thing is done."""
    return Counter(step.act for step in steps)


@pytest.mark.parametrize("seed", range(20))
def test_steps_that_need_an_order_are_apart(seed: int) -> None:
    """Steps of a connection that visits the lobby are never in one true second; all steps lie within their run."""
    steps = script(Scenario(people=9, lobbies=3, restarts=1, minutes=90), seed)
    lines: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        lines[step.line].append(step)
    visited = [line for line in lines.values() if line[0].act is Act.WAIT]
    gaps = [later.at_seconds - earlier.at_seconds for line in visited for earlier, later in pairwise(line)]
    assert len(visited) == 6
    assert min(gaps) > GAP_SECONDS - 0.001
    assert [step.act for step in steps if not step.line] == [Act.START, Act.END, Act.START, Act.END]
    assert steps[0].act is Act.START
    assert steps[-1].act is Act.END


def test_a_meeting_too_short_for_a_lobby_has_none() -> None:
    """In a meeting of a few true seconds nobody waits in the lobby, and its length is kept."""
    steps = script(Scenario(people=6, lobbies=3, minutes=10))
    assert (acts(steps)[Act.WAIT], steps[-1].at_seconds) == (0, 600)


def test_pairs_leave_in_the_same_moment() -> None:
    """Two pairs asked for are four people who leave at one offset."""
    steps = script(Scenario(people=12, same_second=2))
    leaving = Counter(step.at_seconds for step in steps if step.act is Act.LEAVE)
    assert leaving.most_common(1)[0][1] == 4


def test_everything_asked_for_happens() -> None:
    """Rejoins, drops, second devices and breakout rooms are as many as were asked for; strangers come once."""
    wanted = Scenario(
        people=14, rejoins=2, dropped=1, second_devices=2, lobbies=1, breakouts=2, anonymous=2, restarts=1
    )
    steps = script(wanted)
    lines = {step.line for step in steps if step.act in (Act.JOIN, Act.WAIT, Act.BREAKOUT)}
    kinds = Counter(line.rpartition("/")[2] for line in lines if line.count("/") == 2)
    strangers = [step for step in steps if step.person and step.person.identity is None]
    assert (kinds["again"], kinds["phone"], kinds["breakout"], acts(steps)[Act.WAIT]) == (6, 4, 4, 4)
    assert (len(strangers), acts(steps)[Act.START]) == (2, 2)


def test_recording_and_sharing_are_played_when_asked_for() -> None:
    """A recorded meeting is recorded in two parts and its files come after the end; a shared one is shared once."""
    steps = script(Scenario(recorded=True, shared=True))
    counted = acts(steps)
    assert [counted[act] for act in (Act.RECORD, Act.PAUSE, Act.RESUME, Act.STOP, Act.FILES, Act.SHARE)] == [1] * 6
    assert steps[-1].act is Act.FILES
