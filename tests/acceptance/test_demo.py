"""`roomkeeper demo`, as a person runs it in a pipe: everything comes out as expected, and nothing stays behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runtime.environment import environment_for_children
from runtime.settings import EmbeddedSettings, Settings


@pytest.mark.timeout(400)
def test_a_day_with_faults_and_a_killed_worker_comes_out_right(settings: Settings, tmp_path: Path) -> None:
    """Every meeting has its one room and its true attendance; the last line and the exit code say so."""
    embedded = EmbeddedSettings(data_dir=tmp_path / "embedded", docker=settings.embedded.docker)
    ended = subprocess.run(
        [sys.executable, "-m", "roomkeeper", "demo", "--speed", "180"],
        env=environment_for_children(settings.model_copy(update={"embedded": embedded})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    last_line = ended.stdout.strip().splitlines()[-1:]
    assert (last_line, ended.returncode) == (["demo: 12 as expected, 0 not"], 0), ended.stdout + ended.stderr
