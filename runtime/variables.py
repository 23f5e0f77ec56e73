"""Environment variables before they are read: those that name no setting, and those whose JSON cannot be read.

The library that reads them passes over the first in silence, and of the second it names only the section.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import get_origin

from pydantic import BaseModel

PREFIX = "ROOMKEEPER_"
NESTING = "__"


def objections(settings: type[BaseModel], environment: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each variable that cannot be meant; what it holds is not quoted, it may be a secret."""
    for name, text in environment.items():
        if not name.upper().startswith(PREFIX) or not text:
            continue
        section, nested, field = name[len(PREFIX) :].lower().partition(NESTING)
        if section in settings.model_fields:
            if _holds_json(settings, section, field) and not _is_json(text):
                yield f"{name}: must be JSON"
        # Without a nested name it may be somebody else's: Kubernetes sets ROOMKEEPER_PORT for a service of that name.
        elif nested:
            yield f"{name}: there is no such setting; docs/settings.md lists them"


def _holds_json(settings: type[BaseModel], section: str, field: str) -> bool:
    """Whether the variable is a list, a mapping, or a whole section; what has an unknown field is told elsewhere."""
    annotation = settings.model_fields[section].annotation
    is_section = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    if is_section and field:
        known = annotation.model_fields.get(field)  # type: ignore[union-attr]  # a section, as asked above
        return known is not None and get_origin(known.annotation) in (tuple, dict)
    return is_section or get_origin(annotation) in (tuple, dict)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
