"""How hurried a soak is: every duration of the command plane divided alike, so that hours of trouble fit into minutes."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.settings import RoomSettings, Settings, ZoomSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What durations are divided by. A call keeps enough time for a busy machine to answer, and fits into a lease."""

    divisor: float

    @property
    def rooms(self) -> RoomSettings:
        """The room worker's durations."""
        usual = RoomSettings()
        lease = usual.lease_seconds / self.divisor
        first, early, _ = usual.keep_backoff_seconds
        return RoomSettings(
            lease_seconds=lease,
            settle_seconds=usual.settle_seconds / self.divisor,
            call_timeout_seconds=lease / usual.call_attempts * 0.85,
            call_backoff_seconds=(usual.call_backoff_seconds[0] / self.divisor, lease / usual.call_attempts * 0.15),
            keep_backoff_seconds=(first / self.divisor, early / self.divisor, early / self.divisor),
            poll_seconds=0.5,
            retried_after_seconds=usual.retried_after_seconds / self.divisor,
            unsure_seconds=usual.unsure_seconds / self.divisor,
            read_back_seconds=usual.read_back_seconds / self.divisor,
            sweep_seconds=usual.sweep_seconds / self.divisor,
            produce_timeout_seconds=5.0,
        )

    @property
    def zoom(self) -> ZoomSettings:
        """What all processes share towards Zoom. Limits are Zoom's own and stay."""
        usual = ZoomSettings()
        return ZoomSettings(
            breaker_seconds=usual.breaker_seconds / self.divisor,
            rate_wait_seconds=usual.rate_wait_seconds / self.divisor,
        )

    @property
    def slow_seconds(self) -> float:
        """A call that outlives its lease, and the look-ups for its room."""
        return self.rooms.lease_seconds * 2.0

    def settings(self, settings: Settings) -> Settings:
        """The given settings at this pace."""
        return settings.model_copy(update={"rooms": self.rooms, "zoom": self.zoom})
