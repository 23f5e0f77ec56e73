"""Uvicorn's HTTP protocol with one more thing that a failing server can do: closing the connection without a word."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_EXTENSION = "simulator.transport"


class AbortableProtocol(HttpToolsProtocol):
    """Gives applications the means to close their connection."""

    def on_headers_complete(self) -> None:
        """Puts the transport where `abort` finds it."""
        extensions: dict[str, Any] = {_EXTENSION: {"transport": self.transport}}
        self.scope["extensions"] = extensions
        super().on_headers_complete()


def abort(scope: Scope) -> None:
    """Closes the connection of a request at once."""
    scope["extensions"][_EXTENSION]["transport"].abort()
