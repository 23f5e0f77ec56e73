"""`python -m tests.soak`: the whole of it, on a broker and database of its own. Exit code 1 when anything is not as wished."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from roomkeeper.embedded.backing import Backing
from runtime.migrate import migrate
from runtime.randomness import unseeded
from runtime.settings import EmbeddedSettings, Settings
from tests.soak.pace import Pace
from tests.soak.run import Outcome, Size, soak

_SEEDS = 10_000


def main() -> int:
    """Run one soak and say how it went."""
    given = _arguments()
    console = Console(highlight=False)
    console.print(f"soak: seed {given.seed}")
    with tempfile.TemporaryDirectory(prefix="roomkeeper-soak-", ignore_cleanup_errors=True) as folder:
        outcome = _soak(given, Path(given.keep or folder), Console(stderr=True))
    for objection in outcome.verdict.shown():
        console.print(objection, soft_wrap=True)
    console.print(outcome.line, soft_wrap=True)
    return 0 if outcome.verdict.holds else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--meetings", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=150.0, help="so long there are commands, faults and blows")
    parser.add_argument("--seed", type=int, default=unseeded().randrange(_SEEDS), help="names all that is drawn")
    parser.add_argument("--keep", type=Path, help="a folder for the processes' log, in place of one that goes")
    return parser.parse_args()


def _soak(given: argparse.Namespace, folder: Path, console: Console) -> Outcome:
    folder.mkdir(parents=True, exist_ok=True)
    # A lease of 5 seconds in place of 120, and everything else alike.
    size = Size(
        meetings=given.meetings,
        seconds=given.seconds,
        blow_every_seconds=(2.0, 6.0),
        pace=Pace(divisor=24.0),
        days=2,
    )
    alone = Settings(embedded=EmbeddedSettings(data_dir=folder / "stack"))
    columns = (TextColumn("soak"), BarColumn(), MofNCompleteColumn(), TextColumn("meetings"), TimeElapsedColumn())
    with Backing(alone, durable=False) as backing, Progress(*columns, console=console) as progress:
        migrate(backing.settings.postgres)
        bar = progress.add_task("soak", total=given.meetings)
        return soak(
            backing.settings,
            folder,
            seed=given.seed,
            size=size,
            say=lambda served, _: progress.update(bar, completed=served),
        )


if __name__ == "__main__":
    raise SystemExit(main())
