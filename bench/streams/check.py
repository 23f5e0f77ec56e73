"""Nobody cheats: every output and the final state of a side are compared with what they must be."""

from __future__ import annotations

from collections.abc import Iterable

from bench.broker import Record
from bench.streams.courses import Course, digest
from bench.streams.sides import Side
from schemas.errors import Broken


def check_outputs(side: Side, outputs: Iterable[Record], course: Course) -> None:
    """Every event has its outputs, each once and right, as a `read_committed` reader sees them.

    Raises:
        Broken: an output is missing, doubled, or wrong.
    """
    seen: set[bytes] = set()
    count = 0
    for key, value in outputs:
        count += 1
        seen.add(digest(key, value or b""))
    missing, wrong, doubled = len(course.outputs - seen), len(seen - course.outputs), count - len(seen)
    if missing or wrong or doubled:
        raise Broken(
            f"{side.title}: of {len(course.outputs)} outputs {missing} are missing, {wrong} wrong and {doubled} doubled"
        )


def check_state(side: Side, changelog: Iterable[Record], course: Course) -> None:
    """What a restore from the changelog would find is the right final state.

    Raises:
        Broken: an entry is missing, too many, or another.
    """
    found = dict(side.read_state(key, value) for key, value in changelog if value is not None)
    wrong = [key for key, entry in course.state.items() if found.get(key) != entry]
    if wrong or len(found) != len(course.state):
        example = {key: (found.get(key), course.state[key]) for key in wrong[:1]}
        raise Broken(
            f"{side.title}: {len(wrong)} of {len(course.state)} entries wrong, {len(found)} found; such as {example}"
        )
