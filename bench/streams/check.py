"""Nobody cheats: every output and the final state of a side are compared with what they must be."""

from __future__ import annotations

from collections.abc import Iterable

from bench.broker import Record
from bench.streams.codec import decode_answer
from bench.streams.sides import Side
from bench.streams.workload import Expected
from schemas.errors import Broken


def check_answers(side: Side, answers: Iterable[Record], expected: Expected) -> None:
    """Every event has exactly one output, and it is right.

    Raises:
        Broken: an output is missing, doubled, or wrong.
    """
    seen: set[str] = set()
    for key, value in answers:
        answer = decode_answer(value or b"")
        event_id = answer["event_id"]
        if event_id in seen:
            raise Broken(f"{side.title}: the output of {event_id} came twice")
        if expected.answers.get(event_id) != answer or key.decode() != answer["meeting_id"]:
            raise Broken(f"{side.title}: wrong output {answer}, right is {expected.answers.get(event_id)}")
        seen.add(event_id)
    if len(seen) != len(expected.answers):
        raise Broken(f"{side.title}: {len(expected.answers) - len(seen)} of {len(expected.answers)} outputs are missing")


def check_state(side: Side, changelog: Iterable[Record], expected: Expected) -> None:
    """What a restore from the changelog would find is the right final state.

    Raises:
        Broken: a meeting is missing, or its status is another.
    """
    found = dict(side.read_state(key, value) for key, value in changelog if value is not None)
    wrong = [meeting for meeting, status in expected.statuses.items() if found.get(meeting) != status]
    if wrong or len(found) != len(expected.statuses):
        example = {meeting: (found.get(meeting), expected.statuses[meeting]) for meeting in wrong[:1]}
        raise Broken(f"{side.title}: {len(found)} statuses in the changelog, {len(wrong)} of {len(expected.statuses)} wrong, such as {example}")
