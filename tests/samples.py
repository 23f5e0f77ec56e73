"""Zoom's bodies as test data: invented, but in the shapes that Zoom documents or was seen to send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

FOLDER = Path(__file__).parent / "data" / "zoom"


def webhook_files() -> list[Path]:
    """Every webhook sample, the shapes seen live included."""
    return sorted([*FOLDER.joinpath("webhooks").glob("*.json"), *FOLDER.joinpath("webhooks_live_shape").glob("*.json")])


def event_files() -> list[Path]:
    """Every webhook sample that is an event: all but the URL validation."""
    return [file for file in webhook_files() if file.stem != "endpoint.url_validation"]


def webhook(name: str) -> dict[str, Any]:
    """One sample of `webhooks/` by its name without `.json`."""
    return read(FOLDER / "webhooks" / f"{name}.json")


def rest(name: str) -> dict[str, Any]:
    """One sample of `rest/` by its name without `.json`."""
    return read(FOLDER / "rest" / f"{name}.json")


def read(file: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    document: dict[str, Any] = orjson.loads(file.read_bytes())
    return document
