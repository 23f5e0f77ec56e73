"""The limit on bad messages."""

from __future__ import annotations

import pytest

from schemas.errors import BadMessage, Broken, DecodeError
from streams.engine.dead_letter_limit import DeadLetterCount, DeadLetterLimit

LIMIT = DeadLetterLimit(run=5, share=0.5, window=10)
ERROR = BadMessage("payload.object.id: missing")


def test_a_run_reaches_the_limit() -> None:
    """The fifth bad message in a row is one too many; the reason names it, its error, and the setting to raise."""
    count = DeadLetterCount(LIMIT, of="in-a[0]")
    for offset in range(4):
        count.bad(offset, ERROR)
    with pytest.raises(Broken) as raised:
        count.bad(4, DecodeError("unknown fingerprint"))
    assert str(raised.value) == (
        "dead-letter limit: in-a[0]: 5 bad messages in a row, the last at offset 4: DecodeError unknown fingerprint; "
        "ROOMKEEPER_STREAMS__DEAD_LETTER_RUN raises it"
    )


def test_a_good_message_ends_a_run() -> None:
    """Bad messages with good ones between them do not add up to a run."""
    count = DeadLetterCount(DeadLetterLimit(run=2, share=1.0, window=100), of="in-a[0]")
    for _ in range(40):
        count.bad(0, ERROR)
        count.good()
    assert count.run == 0


def test_a_share_reaches_the_limit() -> None:
    """Six bad messages of ten are more than half, also when the tenth is a good one."""
    count = DeadLetterCount(LIMIT, of="in-a[0]")
    for offset, bad in enumerate((1, 1, 0, 1, 1, 0, 1, 1, 0)):
        count.bad(offset, ERROR) if bad else count.good()
    with pytest.raises(Broken, match=r"6 bad messages of 10, the last at offset 7: BadMessage .*__DEAD_LETTER_SHARE"):
        count.good()


def test_half_is_not_more_than_half() -> None:
    """Windows in which every second message is bad go on for ever."""
    count = DeadLetterCount(LIMIT, of="in-a[0]")
    for _ in range(100):
        count.bad(0, ERROR)
        count.good()
    assert count.counts[0] == 0


def test_committed_counts_go_on_after_a_restart() -> None:
    """A run of four that was committed needs one more after a restart, as often as it restarts."""
    for _ in range(3):
        count = DeadLetterCount(LIMIT, of="in-a[0]", run=4, bad=4, seen=4)
        with pytest.raises(Broken):
            count.bad(0, ERROR)


def test_a_rollback_forgets_what_was_not_committed() -> None:
    """Messages that are folded again after an abort are not counted twice."""
    count = DeadLetterCount(LIMIT, of="in-a[0]")
    count.bad(0, ERROR)
    count.commit()
    for _ in range(10):
        count.bad(0, ERROR)
        count.bad(0, ERROR)
        count.rollback()
    assert count.counts == (1, 1, 1)
