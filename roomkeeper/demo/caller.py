"""Roomkeeper as its callers see it: `/v1` over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from schemas.errors import Unavailable

_WAIT_SECONDS = 30
_LOOK_SECONDS = 0.5
_TRIES = 12
_UNFINISHED = (httpx.codes.ACCEPTED, httpx.codes.SERVICE_UNAVAILABLE)
_TIMEOUT_SECONDS = 60.0


class Caller:
    """Somebody with an API key."""

    def __init__(self, address: str, *, api_key: str) -> None:
        """Opens no connection yet."""
        self._client = httpx.AsyncClient(
            base_url=address, headers={"authorization": f"Bearer {api_key}"}, timeout=_TIMEOUT_SECONDS
        )

    async def __aenter__(self) -> Self:
        """Ready."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes its connections."""
        await self._client.aclose()

    async def book(self, key: str, meeting: Mapping[str, Any]) -> str:
        """Asks for a meeting, waits for its room, and gives the meeting's id.

        Raises:
            Unavailable: there is no room in time.
        """
        answer = await self._send("POST", "/v1/meetings", key=key, body=meeting)
        return str(answer.json()["meeting_id"])

    async def change(self, meeting_id: str, *, key: str, changes: Mapping[str, Any]) -> None:
        """Changes a meeting and waits until its room follows."""
        await self._send("PATCH", f"/v1/meetings/{meeting_id}", key=key, body=changes)

    async def cancel(self, meeting_id: str, *, key: str) -> None:
        """Cancels a meeting and waits until its room is gone."""
        await self._send("DELETE", f"/v1/meetings/{meeting_id}", key=key, body=None)

    async def meeting(self, meeting_id: str) -> dict[str, Any]:
        """A meeting with its room."""
        return await self._read(f"/v1/meetings/{meeting_id}") or {}

    async def runs(self, zoom_id: str) -> list[dict[str, Any]]:
        """The runs of a room that Roomkeeper knows, with who attended."""
        page = await self._read(f"/v1/rooms/{zoom_id}/instances", limit=200)
        found = [] if page is None else page["items"]
        people = await asyncio.gather(*(self._attendance(run["uuid"]) for run in found))
        return [{**run, "people": present} for run, present in zip(found, people, strict=True)]

    async def _attendance(self, uuid: str) -> list[dict[str, Any]]:
        answer = await self._read(f"/v1/instances/{quote(uuid, safe='')}/attendance")
        return [] if answer is None else answer["people"]

    async def _read(self, path: str, **query: Any) -> dict[str, Any] | None:
        answer = await self._client.get(path, params=query)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        found: dict[str, Any] = _successful(answer).json()
        return found

    async def _send(self, method: str, path: str, *, key: str, body: Mapping[str, Any] | None) -> httpx.Response:
        headers = {"idempotency-key": key, "prefer": f"wait={_WAIT_SECONDS}"}
        for _ in range(_TRIES):
            answer = await self._client.request(method, path, headers=headers, json=body)
            if answer.status_code not in _UNFINISHED:
                return _successful(answer)
            # Not taken, or not finished: the same key asks again for the same thing.
            await asyncio.sleep(_LOOK_SECONDS)
        raise Unavailable(f"{method} {path}: not finished after {_TRIES} tries")


def _successful(answer: httpx.Response) -> httpx.Response:
    if not answer.is_success:
        raise Unavailable(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text}")
    return answer
