"""What a lane is called."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneId:
    """Topics are co-partitioned by their partition count."""

    partitions: int
    partition: int

    def transactional_id(self, app_id: str) -> str:
        """The name that fences earlier owners of this lane."""
        return f"{app_id}-{self.partitions}-{self.partition}"
