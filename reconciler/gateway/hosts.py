"""Hosts under all their names: callers name one by id or by e-mail address, and Zoom counts both as one.

Guarantee: once an answer of Zoom's has shown that a name is a host's, it draws on the host's budget of the day, and
what was drawn under the name before counts there too. Until then it has a budget of its own.
"""

from __future__ import annotations

from reconciler.statements import Statements
from runtime.postgres import AsyncDatabase
from zoom.client.client import Call, Reply
from zoom.client.decisions import Decision


class Hosts:
    """Learns hosts' names from answers about rooms; a gate of the client."""

    def __init__(self, database: AsyncDatabase) -> None:
        """Kept in this database."""
        self._statements = Statements(database)
        self._known: set[tuple[str, str, str]] = set()

    async def enter(self, _call: Call) -> Reply | None:
        """Lets everything through."""
        return None

    async def leave(self, call: Call, reply: Reply) -> None:
        """Look who the room's host is. Raises `Unavailable`."""
        host_id, email = reply.document.get("host_id"), reply.document.get("host_email")
        if reply.ruling.decision is not Decision.DONE or not isinstance(host_id, str) or not host_id:
            return
        for alias in (call.host, email):
            if not isinstance(alias, str) or not alias or alias == host_id:
                continue
            learnt = (call.account_id, alias.lower(), host_id)
            if learnt not in self._known:
                await self._statements.run("learn_host", account_id=call.account_id, alias=alias, host_id=host_id)
                self._known.add(learnt)
