"""`roomkeeper projectors` and `roomkeeper topics` as processes: what they print, and the codes with which they end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from runtime.environment import environment_for_children
from runtime.kafka.producer import Outgoing, Producer
from runtime.postgres import connect
from runtime.settings import MetricsSettings, Settings
from runtime.topics import MEETING_EVENTS
from schemas.codec import encode
from tests.meeting_commands import Caller, Table
from tests.waiting import wait_for


def run(settings: Settings, *words: str) -> subprocess.CompletedProcess[str]:
    """One command, to its end."""
    command = [sys.executable, "-m", "roomkeeper", *words]
    env = environment_for_children(settings)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=90, check=False)


@contextmanager
def started(settings: Settings, *words: str) -> Iterator[subprocess.Popen[str]]:
    """One command that stays, killed at the end if it still runs."""
    command = [sys.executable, "-m", "roomkeeper", *words]
    process = subprocess.Popen(command, env=environment_for_children(settings), stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_topics_are_planned_applied_and_checked(settings: Settings) -> None:
    """A fresh cluster fails the check with exit 2, is set up by `apply`, and passes it then."""
    before = run(settings, "topics", "check")
    planned = [json.loads(line)["action"] for line in run(settings, "topics", "plan").stdout.splitlines()]
    applied = run(settings, "topics", "apply")
    after = run(settings, "topics", "check")
    assert (before.returncode, applied.returncode, after.returncode) == (2, 0, 0)
    assert "missing" in before.stderr
    assert set(planned) == {"create"}


def test_projectors_do_not_start_without_their_topics(settings: Settings) -> None:
    """Exit 2 before the first message, with one line that names a topic and the cure."""
    ended = run(settings, "projectors", "run")
    assert ended.returncode == 2
    assert f"topic {settings.kafka.topic_prefix}meeting-events: missing" in ended.stderr
    assert "roomkeeper topics apply" in ended.stderr


def test_an_unknown_projection_is_refused_by_name(settings: Settings) -> None:
    """Whoever mistypes a projection is told which there are."""
    ended = run(settings, "projectors", "run", "--only", "romos")
    assert ended.returncode == 2
    assert "no projection romos, but meetings, rooms, dead_letters" in ended.stderr


def test_projectors_write_rows_show_metrics_and_stop_in_order(settings: Settings) -> None:
    """All projections run in one process; SIGTERM ends it with exit 0 after what was begun."""
    run(settings, "topics", "apply")
    shown = settings.model_copy(update={"metrics": MetricsSettings(port=0)})
    with started(shown, "projectors", "run") as process:
        assert process.stderr is not None
        begun = next(json.loads(line) for line in process.stderr if '"projectors.running"' in line)
        with Producer(settings.kafka, client_id="tests") as producer:
            event = Table().put(Caller().create())
            topic = settings.kafka.topic_prefix + MEETING_EVENTS
            producer.send(Outgoing(topic=topic, key=event.meeting_id.encode(), value=encode(event)))
        with connect(settings.postgres, role="tests", autocommit=True) as connection:
            wait_for(lambda: connection.execute("SELECT 1 FROM meetings").fetchone(), what="the meeting's row")
        url = f"http://127.0.0.1:{begun['metrics_port']}/metrics"
        shown_text = urllib.request.urlopen(url, timeout=10).read().decode()
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)
    assert code == 0
    assert set(begun["projections"]) == {"meetings", "rooms", "dead_letters"}
    assert 'roomkeeper_projector_records_total{projection="meetings"} 1.0' in shown_text
