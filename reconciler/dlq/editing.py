"""Changing single values of a dead letter, and showing what would change."""

from __future__ import annotations

import copy
import difflib
from typing import Any

import orjson

from schemas.errors import Misconfigured


def with_values(content: Any, assignments: list[str]) -> Any:
    """A copy of the content with each `path=value` done; the value is JSON, or else text.

    A path names fields and positions with dots, such as `details.topic` or `pending.0.action`.

    Raises:
        Misconfigured: an assignment has no `=`, or its path leads nowhere.
    """
    changed = copy.deepcopy(content)
    for assignment in assignments:
        path, separator, text = assignment.partition("=")
        if not separator or not path:
            raise Misconfigured(f"--set {assignment}: must be path=value")
        _assign(changed, path.split("."), _value(text), path=path)
    return changed


def pretty(content: Any) -> str:
    """As JSON for people; of text the text itself."""
    return content if isinstance(content, str) else orjson.dumps(content, option=orjson.OPT_INDENT_2).decode() + "\n"


def difference(before: str, after: str) -> str:
    """A unified diff; empty when nothing changed."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), fromfile="original", tofile="edited"
    )
    return "".join(lines)


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _assign(content: Any, steps: list[str], value: Any, *, path: str) -> None:
    *way, last = steps
    place = content
    for step in way:
        place = _inside(place, step, path=path)
    if isinstance(place, list):
        place[_position(place, last, path=path)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise Misconfigured(f"--set {path}: {last} is not inside of anything")


def _inside(place: Any, step: str, *, path: str) -> Any:
    if isinstance(place, list):
        return place[_position(place, step, path=path)]
    if isinstance(place, dict) and step in place:
        return place[step]
    raise Misconfigured(f"--set {path}: there is no {step}")


def _position(place: list[Any], step: str, *, path: str) -> int:
    if not step.isdigit() or int(step) >= len(place):
        raise Misconfigured(f"--set {path}: {step} is no position in a list of {len(place)}")
    return int(step)
