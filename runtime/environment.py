"""Settings as environment variables: how a process hands its settings to the processes that it starts.

Guarantee: `load()` in a process with `environment_of(settings)` gives equal settings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, SecretStr

from runtime.settings import Section, Settings
from runtime.variables import NESTING, PREFIX


def environment_of(settings: Settings) -> dict[str, str]:
    """Each setting that differs from its default, by variable name; secrets are in clear."""
    found: dict[str, str] = {}
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if isinstance(value, Section):
            for field in type(value).model_fields:
                _note(
                    found,
                    f"{PREFIX}{name}{NESTING}{field}".upper(),
                    getattr(value, field),
                    default=_default(type(value), field),
                )
        else:
            _note(found, f"{PREFIX}{name}".upper(), value, default=_default(Settings, name))
    return found


def environment_for_children(settings: Settings) -> dict[str, str]:
    """This process's environment, with `settings` in place of whatever Roomkeeper settings it holds."""
    inherited = {name: value for name, value in os.environ.items() if not name.upper().startswith(PREFIX)}
    return {**inherited, **environment_of(settings)}


def _default(model: type[BaseModel], field: str) -> Any:
    return model.model_fields[field].get_default(call_default_factory=True)


def _note(found: dict[str, str], variable: str, value: object, *, default: object) -> None:
    if value != default:
        plain = _plain(value)
        found[variable] = plain if isinstance(plain, str) else json.dumps(plain)


def _plain(value: object) -> object:
    """The value as JSON knows it."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Section):
        return {field: _plain(getattr(value, field)) for field in type(value).model_fields}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
