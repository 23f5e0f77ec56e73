"""The dead-letter limit: a run of bad records means that the reader is wrong, not the records.

A reader that is too old, or a bad deploy, must not drain a topic into the dead letters. The run that reaches the limit
is not acknowledged and the count is kept beside the offset, so that a restart stops at the same place again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from projectors.engine.slices import Refused, Slice
from schemas.errors import Broken

SETTING = "ROOMKEEPER_PROJECTORS__DEAD_LETTER_RUN"


def runs_after(
    slices: Sequence[Slice], refused: Sequence[Refused], *, before: Mapping[int, int], limit: int
) -> dict[int, int]:
    """The run of bad records at the end of each partition in `before`, which are the runs ahead of these slices.

    Raises:
        Broken: a run reaches `limit`.
    """
    bad = {(each.consumed.partition, each.consumed.offset): each for each in refused}
    runs = dict(before)
    for each in slices:
        if each.partition not in runs:
            continue
        for record in each.records:
            failed = bad.get((record.partition, record.offset))
            runs[each.partition] = runs[each.partition] + 1 if failed else 0
            if failed and runs[each.partition] >= limit:
                raise Broken(_reason(failed, run=limit))
    return runs


def _reason(last: Refused, *, run: int) -> str:
    record = last.consumed
    return (
        f"{run} records in a row up to {record.topic}/{record.partition}/{record.offset} cannot be read, the last: "
        f"{type(last.error).__name__} {last.error}; not acknowledged. Is this version older than the "
        f"one that wrote them? If they are truly bad, raise {SETTING}, and they become dead letters"
    )
