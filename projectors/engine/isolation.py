"""Finding the records that the database, or the projection, refuses: the batch is halved until they stand alone.

Guarantees: every record that can be written is written, in order; a record counts as refused only when it fails alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import psycopg

from projectors.engine.slices import Refused
from projectors.projection import Decoded
from schemas.errors import BadMessage

R = TypeVar("R")

REFUSALS = (BadMessage, psycopg.DataError, psycopg.IntegrityError)
"""What is the fault of a record's values. Anything else is the world's or ours."""


def write_separately(
    batch: Sequence[Decoded[R]], write: Callable[[Sequence[Decoded[R]]], None]
) -> tuple[list[Decoded[R]], list[Refused]]:
    """Write what can be written; `write` must undo itself when it raises. Gives the written and the refused."""
    try:
        write(batch)
    except REFUSALS as error:
        if len(batch) == 1:
            return [], [Refused(consumed=batch[0].consumed, error=as_bad_message(error))]
    else:
        return list(batch), []
    middle = len(batch) // 2
    written, refused = write_separately(batch[:middle], write)
    more_written, more_refused = write_separately(batch[middle:], write)
    return written + more_written, refused + more_refused


class RefusedByDatabase(BadMessage):
    """The database does not take a value of the record."""


def as_bad_message(error: BadMessage | psycopg.Error) -> BadMessage:
    """The error without the record's values, which the database's own words may quote."""
    if isinstance(error, BadMessage):
        return error
    diagnosis = error.diag
    places = (
        ("table", diagnosis.table_name),
        ("column", diagnosis.column_name),
        ("constraint", diagnosis.constraint_name),
    )
    where = ", ".join(f"{what} {name}" for what, name in places if name)
    refused = RefusedByDatabase(f"{type(error).__name__} ({error.sqlstate or 'client'}){', ' if where else ''}{where}")
    refused.__cause__ = error
    return refused
