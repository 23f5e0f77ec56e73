"""The product's own fold of rooms, with its real records, on the same engine."""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench.peers.arguments import mark, read_arguments
from bench.streams.ours import work
from schemas.rooms.entry import Entry
from streams.fold import Folded, Input
from streams.rooms.fold import RoomsFold


class MarkedRoomsFold(RoomsFold):
    """Tells when it sees its first record, and from then on is `RoomsFold` itself."""

    def fold(self, record: Input, read: Callable[[str], Entry | None], *, generation: int) -> Folded[Entry]:
        """As `RoomsFold` does."""
        mark("first")
        self.fold = super().fold  # type: ignore[method-assign]  # the next record goes straight there
        return self.fold(record, read, generation=generation)


def main() -> int:
    """Fold until SIGTERM; what stands before the source's name is the prefix of all topics."""
    arguments = read_arguments()
    return work(MarkedRoomsFold(), arguments, prefix=arguments.source.removesuffix(RoomsFold.source))


if __name__ == "__main__":
    sys.exit(main())
