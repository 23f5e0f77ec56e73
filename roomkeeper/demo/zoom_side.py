"""The simulated Zoom behind the scenes: ordering faults, letting people meet, asking for the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from schemas.errors import Broken

_LONGEST_SECONDS = 300.0


class ZoomSide:
    """The simulator's control API."""

    def __init__(self, address: str) -> None:
        """Opens no connection yet."""
        self._client = httpx.AsyncClient(base_url=f"{address}/control", timeout=_LONGEST_SECONDS)

    async def __aenter__(self) -> Self:
        """Ready."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes its connections."""
        await self._client.aclose()

    async def order(self, faults: Iterable[Mapping[str, Any]]) -> None:
        """Puts faults in force."""
        for fault in faults:
            await self._ask("POST", "/faults", json=fault)

    async def clear_faults(self) -> None:
        """Lifts every fault."""
        await self._ask("DELETE", "/faults")

    async def play(self, zoom_id: str, scenario: Mapping[str, Any]) -> None:
        """Lets people meet in a room."""
        await self._ask("POST", f"/meetings/{zoom_id}/play", json=scenario)

    async def plays_end(self) -> None:
        """Returns when every meeting is over and every webhook was delivered."""
        progress = await self._ask("GET", "/plays", params={"wait": 240})
        if progress["done"] != progress["plays"] or progress["failed"]:
            raise Broken(f"the simulator could not play the day: {progress}")
        if not (await self._ask("GET", "/settled", params={"wait": 60}))["settled"]:
            raise Broken("webhooks are still on their way")

    async def truth(self) -> list[dict[str, Any]]:
        """What was true of every room."""
        rooms: list[dict[str, Any]] = (await self._ask("GET", "/truth"))["rooms"]
        return rooms

    async def counts(self) -> dict[str, Any]:
        """Counts of everything."""
        counts: dict[str, Any] = await self._ask("GET", "/stats")
        return counts

    async def _ask(self, method: str, path: str, **arguments: Any) -> Any:
        answer = await self._client.request(method, path, **arguments)
        if not answer.is_success:
            raise Broken(f"the simulator refused {method} {path}: {answer.text}")
        return answer.json()
