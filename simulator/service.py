"""One simulated Zoom, put together: the world, its limits, faults and tokens, the deliveries and the player."""

from __future__ import annotations

from collections import Counter

from runtime.clock import Clock
from runtime.randomness import seeded
from simulator.config import SimulatorConfig
from simulator.deliveries import Deliveries
from simulator.faults import Faults
from simulator.identifiers import Identifiers
from simulator.player import Player
from simulator.rates import RateLimits
from simulator.tokens import Tokens
from simulator.world import World


class Service:
    """Everything that the HTTP side works on."""

    def __init__(self, config: SimulatorConfig, clock: Clock) -> None:
        """Each part draws from a seed of its own, so that one part's use never shifts another's."""
        self.config = config
        self.clock = clock
        self.faults = Faults(seeded(config.seed, "faults"))
        self.rates = RateLimits(enforced=config.limits)
        self.tokens = Tokens(Identifiers(seeded(config.seed, "tokens")), lifetime_seconds=config.token_seconds)
        self.deliveries = Deliveries(
            clock=clock,
            random=seeded(config.seed, "deliveries"),
            ids=Identifiers(seeded(config.seed, "requests")),
            faults=self.faults,
            speed=config.speed,
            latency_seconds=config.latency_seconds,
        )
        self.world = World(config, self.deliveries.take)
        self.player = Player(self.world, clock=clock, seed=config.seed, speed=config.speed)
        self.past_lag_seconds = 0.0
        """So long after its end, in true time, a run is not among the past meetings yet."""
        self.calls: Counter[tuple[str, int]] = Counter()
        """By endpoint and status; 0 where no answer was given."""
        self.host_calls: Counter[tuple[str, str]] = Counter()
        """By host's e-mail and endpoint."""

    async def close(self) -> None:
        """Stops playing and sending."""
        self.player.close()
        await self.deliveries.close()
