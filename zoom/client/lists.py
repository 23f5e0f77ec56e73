"""A host's rooms, page by page, as one whole: an incomplete list proves nothing, so it is not given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zoom.client.client import Call, Permit, Reply, ZoomClient
from zoom.client.decisions import Decision
from zoom.client.endpoints import LIST

PAGE_SIZE = 300
MOST_PAGES = 100
"""30,000 rooms of one host: a list that goes on beyond is going round in circles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The rooms that a list of the host showed."""

    rooms: tuple[Mapping[str, Any], ...]
    complete: bool
    """Whether the last page was seen. Without it, nothing can be said of what is not here."""
    reply: Reply
    """To the last page asked for."""
    first: Reply
    """To the first page: what the list shows was so when that was asked for, or later."""


async def list_rooms(client: ZoomClient, *, account_id: str, host: str, permit: Permit) -> Listing:
    """The host's rooms as Zoom lists them: no instant meetings, new ones late, agendas cut at 250 characters."""
    rooms: list[Mapping[str, Any]] = []
    query = {"type": "scheduled", "page_size": str(PAGE_SIZE)}
    pages = 0
    first: Reply | None = None
    while True:
        call = Call(endpoint=LIST, account_id=account_id, host=host, query=query)
        reply = await client.call(call, permit=permit)
        first = first or reply
        pages += 1
        done = reply.ruling.decision is Decision.DONE
        if done:
            rooms += [each for each in reply.document["meetings"] if isinstance(each, dict)]
        token = reply.document.get("next_page_token")
        if not done or not token or pages == MOST_PAGES:
            return Listing(rooms=tuple(rooms), complete=done and not token, reply=reply, first=first)
        query = query | {"next_page_token": str(token)}
