"""What is installed is whole: a wheel holds every file that the packages read at run time."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "roomkeeper",
    "streams",
    "schemas",
    "projectors",
    "ingress",
    "reconciler",
    "zoom",
    "runtime",
    "simulator",
)
BESIDE = ("pyproject.toml", "README.md", "LICENSE", "topics.yaml")


def tracked(*paths: str) -> list[str]:
    """The files below these paths that belong to the project."""
    shown = subprocess.run(["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return [file for file in shown.stdout.splitlines() if (ROOT / file).exists()]


def test_a_wheel_holds_every_file_of_the_packages(tmp_path: Path) -> None:
    """SQL, schemas, migrations, the topic catalogue and the pom come along."""
    source = tmp_path / "source"
    for file in tracked(*PACKAGES, *BESIDE):
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, source / file)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(tmp_path), str(source)], check=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    assert sorted(set(tracked(*PACKAGES)) - inside) == []
