"""Pollers as processes: one leads, is frozen, is succeeded, wakes; its successor is killed in the middle of a pass.

Broker, database and Zoom's HTTP are real. The simulated Zoom's clock is two hours behind, so that its meetings are long
over for the pollers and nobody waits for them.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runtime.environment import environment_for_children
from runtime.postgres import connect
from runtime.settings import Settings
from runtime.topics import ZOOM_EVENTS
from schemas.codec import decode
from schemas.records.zoom_events import ZoomEvent
from simulator.faults import Fault, Kind, Target
from tests.ingress import records
from tests.polling import PollingPlane
from tests.polling_processes import BehindClock, poll_once, polling_settings
from tests.simulated_zoom import ACCOUNT, config, simulated_zoom, webhook_endpoint
from tests.waiting import wait_for

ROOMS = 4
ONE_MEETING = {"people": 4, "minutes": 45, "anonymous": 0, "lobbies": 0}


@dataclass(kw_only=True)
class Poller:
    """`roomkeeper poll run` as a process."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self, event: str) -> int:
        """How often it said so."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return sum(json.loads(line).get("event") == event for line in lines if line.startswith("{"))


@dataclass(kw_only=True)
class World:
    """Zoom, what is known of it, and the pollers."""

    settings: Settings
    plane: PollingPlane
    folder: Path
    numbers: list[int] = field(default_factory=list)

    @contextmanager
    def poller(self, name: str) -> Iterator[Poller]:
        """A process that is gone at the end of the block."""
        log = self.folder / f"{name}.log"
        with log.open("wb") as lines:
            process = subprocess.Popen(
                [sys.executable, "-m", "roomkeeper", "poll", "run"],
                env=environment_for_children(self.settings),
                stderr=lines,
            )
            try:
                yield Poller(process=process, log=log)
            finally:
                process.kill()
                process.wait(timeout=30)

    def meet(self) -> None:
        """More meetings, of which Roomkeeper hears next to nothing."""
        made = [self.plane.make(topic=f"room {at}", minutes=30) for at in range(ROOMS)]
        self.plane.hear()
        lost = self.plane.drop("*", probability=0.7)
        for number in made:
            self.plane.order(number, "happened", json=ONE_MEETING)
        self.plane.hear()
        self.plane.zoom.service.faults.clear(lost.fault_id)
        self.numbers += made

    def calls(self) -> int:
        """Calls that Zoom has answered, those for tokens not counted."""
        return sum(count for name, count in self.plane.calls().items() if name != "token")

    def learn(self) -> None:
        """Fold what the pollers have put into `zoom-events`, all of it again."""
        self.plane.fold(decode(each.value() or b"", ZoomEvent) for each in records(self.settings, ZOOM_EVENTS))

    def differences(self) -> dict[int, Any]:
        """What is known otherwise than it was."""
        found = {}
        for number in self.numbers:
            known = self.plane.known_runs(number), self.plane.known_people(number)
            true = self.plane.true_runs(number), self.plane.true_people(number)
            if known != true:
                found[number] = (known, true)
        return found


@contextmanager
def world(settings: Settings, folder: Path) -> Iterator[World]:
    """Zoom, two hours behind, and everything that pollers need."""
    clock = BehindClock()
    with webhook_endpoint() as endpoint:
        subscribed = replace(ACCOUNT, webhook_url=endpoint.url)
        with (
            simulated_zoom(config(limits=False, accounts=(subscribed,)), clock) as zoom,
            connect(settings.postgres, role="test", autocommit=True) as connection,
        ):
            own = polling_settings(settings, zoom.address)
            plane = PollingPlane(settings=own, connection=connection, zoom=zoom, endpoint=endpoint, clock=clock)
            yield World(settings=own, plane=plane, folder=folder)


def test_leaders_that_are_frozen_and_killed_in_mid_pass(settings: Settings, tmp_path: Path) -> None:
    """A successor leads within a minute, the old leader calls nobody any more, and neither loses or spoils anything."""
    with world(settings, tmp_path) as zoom, zoom.poller("first") as first:
        faults = zoom.plane.zoom.service.faults
        wait_for(lambda: first.said("poller.passed"), what="a first pass, over nothing")
        with zoom.poller("second") as second:
            zoom.meet()
            slow = faults.order(Fault(target=Target.REST, kind=Kind.SLOW, seconds=0.4))
            _ask_for_a_pass(zoom)
            before = zoom.calls()
            wait_for(lambda: zoom.calls() >= before + 4, what="the first one in mid-pass")
            first.process.send_signal(signal.SIGSTOP)
            faults.clear(slow.fault_id)
            wait_for(lambda: second.said("poller.leads"), what="a successor", within_seconds=60)
            wait_for(lambda: second.said("poller.passed"), what="its pass")
            zoom.learn()
            repaired = zoom.differences()
            made = zoom.calls()
            first.process.send_signal(signal.SIGCONT)
            wait_for(lambda: first.said("poller.lead_lost"), what="the old leader's notice")
            calls_of_the_old_leader = zoom.calls() - made
            zoom.learn()
            overlapped = zoom.differences()

            zoom.meet()
            faults.order(Fault(target=Target.REST, kind=Kind.SLOW, seconds=0.4))
            _ask_for_a_pass(zoom)
            before = zoom.calls()
            wait_for(lambda: zoom.calls() >= before + 4, what="the second one in mid-pass")
            second.process.kill()
            faults.clear()
            passes = first.said("poller.passed")
            wait_for(lambda: first.said("poller.passed") > passes, what="a pass of who is left")
            zoom.learn()
        assert (repaired, calls_of_the_old_leader, overlapped) == ({}, 0, {})
        assert zoom.differences() == {}


def _ask_for_a_pass(zoom: World) -> None:
    zoom.plane.connection.execute("NOTIFY roomkeeper_poll")


def test_once_beside_a_leader(settings: Settings, tmp_path: Path) -> None:
    """`roomkeeper poll --once` has the process that leads make the pass, and prints that pass's report."""
    with world(settings, tmp_path) as zoom, zoom.poller("leader") as leader:
        wait_for(lambda: leader.said("poller.passed"), what="a leader")
        zoom.meet()
        report, log = poll_once(zoom.settings)
        reports = zoom.plane.rows("SELECT report FROM poll_passes WHERE ended_at IS NOT NULL ORDER BY pass_id")
        zoom.learn()
        assert "poller.passed" not in log
        assert reports[-1] == (report,)
        assert zoom.differences() == {}
