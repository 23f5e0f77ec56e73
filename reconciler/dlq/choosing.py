"""The options by which a command chooses dead letters: the same, and meaning the same, wherever there are any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from reconciler.dlq.letters import Filters, letter_uuid
from reconciler.dlq.options import moment

CHOICE = "choice"
"""The parameter of a command that these options stand in for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was asked for on the command line; what is None does not matter."""

    stage: Annotated[str | None, typer.Option(help="Who could not use them, such as streams.rooms.")] = None
    error: Annotated[str | None, typer.Option(help="Class of the error, such as DecodeError.")] = None
    topic: Annotated[str | None, typer.Option(help="Where the messages came from.")] = None
    partition: Annotated[int | None, typer.Option(help="Partition they came from.")] = None
    from_offset: Annotated[int | None, typer.Option(help="Offset they came from, this one or later.")] = None
    to_offset: Annotated[int | None, typer.Option(help="Offset they came from, this one or earlier.")] = None
    key: Annotated[
        str | None, typer.Option("--key", "--meeting", "--room", help="A meeting's id, or a room's number.")
    ] = None
    since: Annotated[
        str | None, typer.Option(help="Failed since then: a time (UTC unless it says), or 30m, 12h, 7d ago.")
    ] = None
    until: Annotated[str | None, typer.Option(help="Failed before then.")] = None
    text: Annotated[str | None, typer.Option(help="Part of the error's message.")] = None
    letter_id: Annotated[str | None, typer.Option("--id", help="One dead letter.")] = None

    def filters(self, now: datetime) -> Filters:
        """The same for the ledger; ages are counted back from `now`.

        Raises:
            Misconfigured: a time or an id is none.
        """
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        times = {"since": moment(self.since, now=now), "until": moment(self.until, now=now)}
        if self.letter_id is not None:
            letter_uuid(self.letter_id)
        return Filters(**(given | times))


def choosing(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of a `Choice` in place of its keyword `choice`."""
    hints = get_type_hints(command, include_extras=True)
    options = get_type_hints(Choice, include_extras=True)

    @wraps(command)
    def chosen(**given: Any) -> None:
        command(**{CHOICE: Choice(**{name: given.pop(name) for name in options})}, **given)

    own = [each for each in signature(command).parameters.values() if each.name != CHOICE]
    parameters = [each.replace(annotation=hints[each.name]) for each in own]
    parameters += [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=options[name]) for name in options]
    del chosen.__dict__["__wrapped__"]  # it would lead typer back to the command's own parameters
    chosen.__dict__["__signature__"] = Signature(parameters)
    chosen.__annotations__ = {each.name: each.annotation for each in parameters}
    return chosen
