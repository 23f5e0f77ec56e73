"""A fold that is not idempotent on purpose: it counts, so that a record folded twice or never shows for ever.

Events are JSON: `id`, and perhaps `do`: what the fold is to do instead of counting.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from schemas.errors import BadMessage
from streams.fold import Folded, Input, Output

PAD = "x" * 240
"""Makes an entry about 300 bytes long."""

Entry = dict[str, Any]


class CountingFold:
    """Counts the events of a key; each output says the how manieth it was."""

    def __init__(self, name: str) -> None:
        """From `in-<name>` into table `<name>`, telling `out-<name>`."""
        self.source = f"in-{name}"
        self.sink = f"out-{name}"
        self.table = name

    def fold(self, record: Input, read: Callable[[str], Entry | None], *, generation: int) -> Folded[Entry]:
        """One more of this key."""
        event = _event(record)
        old = read(record.key)
        entry = {"n": (old["n"] if old else 0) + 1, "last": event["id"], "pad": PAD}
        output = {"id": event["id"], "n": entry["n"], "offset": record.offset}
        value = json.dumps(output).encode()
        return Folded(
            outcome="applied",
            entries={record.key: entry},
            outputs=(Output(topic=self.sink, key=record.key, value=value),),
        )

    def encode(self, entry: Entry) -> bytes:
        """As JSON."""
        return json.dumps(entry).encode()

    def decode(self, value: bytes) -> Entry:
        """From JSON."""
        decoded: Entry = json.loads(value)
        return decoded


def _event(record: Input) -> dict[str, Any]:
    try:
        event: dict[str, Any] = json.loads(record.value)
    except ValueError as error:
        raise BadMessage("not JSON") from error
    match event.get("do"):
        case "bad":
            raise BadMessage("it says so itself")
        case "raise":
            raise ZeroDivisionError("the fold has a fault")
        case "sleep":
            time.sleep(event["seconds"])
    return event
