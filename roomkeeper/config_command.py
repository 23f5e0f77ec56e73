"""`roomkeeper config`: the settings that a process would have here and now, secrets masked."""

from __future__ import annotations

from collections.abc import Iterator

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from runtime.settings import Section, Settings, load

MASK = "********"


def build() -> typer.Typer:
    """The command `roomkeeper config`."""
    app = typer.Typer()
    app.command("config")(_config)
    return app


def _config() -> None:
    """Show every setting, secrets masked; a setting that does not hold is named instead, with exit code 2."""
    table = Table("variable", "value")
    for name, value in variables(load()):
        table.add_row(name, value)
    Console(highlight=False).print(table, markup=False)


def variables(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each variable with its value as text."""
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if isinstance(value, Section):
            for field in type(value).model_fields:
                yield f"ROOMKEEPER_{name}__{field}".upper(), str(_masked(getattr(value, field)))
        else:
            yield f"ROOMKEEPER_{name}".upper(), str(_masked(value))


def _masked(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return MASK
    if isinstance(value, Section):
        return {field: _masked(getattr(value, field)) for field in type(value).model_fields}
    if isinstance(value, tuple):
        return [_masked(each) for each in value]
    return dict.fromkeys(value, MASK) if isinstance(value, dict) else value
