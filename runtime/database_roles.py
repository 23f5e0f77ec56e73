"""A database role for each of Roomkeeper's roles, with the rights that its queries need and no others.

`database_roles.yaml` is the authority; a test holds it to the queries. The roles have no password and may not log in
until somebody lets them. Running it again, after a migration, is harmless.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Literal

import yaml
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo
from pydantic import BaseModel, ConfigDict, TypeAdapter

from runtime.postgres import Connection
from runtime.queries import queries

SCHEMA = "public"
Right = Literal["select", "insert", "update", "delete"]
SequenceRight = Literal["usage", "select", "update"]


class Rights(BaseModel):
    """What one role may do: tables and views by right, and sequences with theirs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tables: Mapping[Right, tuple[str, ...]] = {}
    sequences: Mapping[str, tuple[SequenceRight, ...]] = {}


def declared() -> Mapping[str, Rights]:
    """The rights of each role, by its name in Roomkeeper."""
    text = files("runtime").joinpath("database_roles.yaml").read_text(encoding="utf-8")
    return TypeAdapter(dict[str, Rights]).validate_python(yaml.safe_load(text))


def database_role(role: str) -> str:
    """What the role is called in the database; roles are the whole server's."""
    return f"roomkeeper_{role}"


def grant_all(connection: Connection) -> tuple[str, ...]:
    """Make the roles that are missing, give each what is declared, take what is not; the names, in order.

    Needs the owner of the tables, who may make roles. What belongs to others in the schema is left alone.
    """
    found = declared()
    with connection.transaction():
        connection.execute(queries("runtime.migrations")["lock_roles"])
        for role, rights in found.items():
            _make(connection, database_role(role))
            _take(connection, sql.Identifier(database_role(role)))
            _give(connection, sql.Identifier(database_role(role)), rights)
    return tuple(database_role(role) for role in found)


def let_in(connection: Connection, *, password: str) -> None:
    """Let all of them log in with this password: for a database of one machine's own, where all run as one person."""
    for role in declared():
        connection.execute(
            sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(
                sql.Identifier(database_role(role)), sql.Literal(password)
            )
        )


def login(dsn: str, role: str, *, password: str) -> str:
    """The database's address for a role that was let in."""
    return make_conninfo(dsn, user=database_role(role), password=password)


def _make(connection: Connection, name: str) -> None:
    try:
        with connection.transaction():
            connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))
    except (errors.DuplicateObject, errors.UniqueViolation):  # it is there, or another database makes it now
        return


def _take(connection: Connection, name: sql.Identifier) -> None:
    """Take all rights; not those on what belongs to others, of which they may be nobody's here to take."""
    found = connection.execute(queries("runtime.migrations")["own_relations"], {"schema": SCHEMA}).fetchall()
    for kind, is_sequence in ((sql.SQL("TABLE"), False), (sql.SQL("SEQUENCE"), True)):
        own = [sql.Identifier(SCHEMA, each["name"]) for each in found if each["is_sequence"] is is_sequence]
        if own:
            connection.execute(sql.SQL("REVOKE ALL ON {} {} FROM {}").format(kind, sql.SQL(", ").join(own), name))


def _give(connection: Connection, name: sql.Identifier, rights: Rights) -> None:
    schema = sql.Identifier(SCHEMA)
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, name))
    for right, tables in rights.tables.items():
        named = sql.SQL(", ").join(sql.Identifier(SCHEMA, table) for table in tables)
        connection.execute(sql.SQL("GRANT {} ON {} TO {}").format(sql.SQL(right), named, name))
    for sequence, wanted in rights.sequences.items():
        some = sql.SQL(", ").join(map(sql.SQL, wanted))
        connection.execute(
            sql.SQL("GRANT {} ON SEQUENCE {} TO {}").format(some, sql.Identifier(SCHEMA, sequence), name)
        )
