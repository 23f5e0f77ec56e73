"""Database roles: each may do what the queries of its code need, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from roomkeeper.local.stack import ROLES
from runtime.database_roles import database_role, declared, grant_all
from runtime.postgres import Connection, connect
from runtime.queries import queries
from runtime.settings import Settings

ROOT = Path(__file__).parents[2]
DENIED = re.compile(r"permission denied for (?:table|view) (\w+)")
COUNTED = re.compile(r"(?:nextval|setval)\(\s*'(\w+)'")
RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")
KEYS = frozenset({"create_key", "revoke_key", "list_keys"})


def _named(package: str, *globs: str, but: str = "") -> dict[str, str]:
    """The queries of a package that these files name."""
    text = "\n".join(file.read_text() for each in globs for file in ROOT.glob(each) if file.name != but)
    return {name: query for name, query in queries(package).items() if f'"{name}"' in text}


def _of(role: str) -> dict[str, str]:
    """The queries that a role runs."""
    gateway = "reconciler/gateway/*.py"
    if role == "ingress":
        return {name: query for name, query in queries("ingress").items() if name not in KEYS}
    if role == "rooms":
        return _named("reconciler", "reconciler/rooms/*.py", gateway, but="operations.py")
    if role == "poller":
        return {**queries("reconciler.poller"), **_named("reconciler", "reconciler/poller/*.py", gateway)}
    if role == "dlq":
        return dict(queries("reconciler.dlq"))
    if role == "operators":
        keys = {name: query for name, query in queries("ingress").items() if name in KEYS}
        return {**keys, **_named("reconciler", "reconciler/rooms/operations.py")}
    return dict(queries(role))


def _statements(query: str) -> Iterator[str]:
    """Each statement, with NULL for its parameters: rights are checked all the same."""
    bare = re.sub(r"%\(\w+\)s", "NULL", re.sub(r"--.*", "", query)).replace("%%", "%")
    yield from (part.strip() for part in bare.split(";") if part.strip())


class Probe:
    """Finds out what a role that may do nothing must be given."""

    def __init__(self, connection: Connection, name: str) -> None:
        """`name` is a role of the database that exists."""
        self._connection, self._name = connection, name
        self.needed: set[tuple[str, str]] = set()

    def allow(self, statement: str) -> None:
        """Give what the statement needs, right by right."""
        given: set[tuple[str, str]] = set()
        while (table := self._denied(statement)) is not None:
            missing = [right for right in RIGHTS if (right, table) not in self.needed | given]
            assert missing, f"{self._name} cannot be allowed {statement}"
            for right in missing:
                self._change("GRANT", right, table)
                given.add((right, table))
        for right, table in sorted(given):
            self._change("REVOKE", right, table)
            if self._denied(statement) is not None:
                self._change("GRANT", right, table)
                self.needed.add((right, table))

    def _change(self, verb: str, right: str, table: str) -> None:
        word = "TO" if verb == "GRANT" else "FROM"
        self._connection.execute(f"{verb} {right} ON {table} {word} {self._name}")

    def _denied(self, statement: str) -> str | None:
        """The table that the statement may not use."""
        self._connection.execute(f"SET ROLE {self._name}")
        try:
            if statement.startswith(("LISTEN", "NOTIFY", "CREATE TEMPORARY TABLE", "TRUNCATE staged_")):
                self._connection.execute(statement)
            elif not statement.startswith("COPY staged_"):
                self._connection.execute(f"EXPLAIN {statement}")
        except errors.InsufficientPrivilege as error:
            found = DENIED.search(str(error))
            if found is None:
                raise
            return found[1]
        finally:
            self._connection.execute("RESET ROLE")
        return None


@pytest.fixture
def owner(settings: Settings) -> Iterator[Connection]:
    """The owner of a migrated database."""
    with connect(settings.postgres, role="tests", autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("role", list(declared()))
def test_a_role_has_the_rights_that_its_queries_need_and_no_others(owner: Connection, role: str) -> None:
    """What `database_roles.yaml` declares is what the database asks for, table by table."""
    probed = f"probe_{role}_{owner.info.backend_pid}"
    owner.execute(f"CREATE ROLE {probed}")
    try:
        owner.execute(f"GRANT USAGE ON SCHEMA public TO {probed}")
        for sequence in declared()[role].sequences:
            owner.execute(f"GRANT SELECT ON {sequence} TO {probed}")
        probe = Probe(owner, probed)
        for query in _of(role).values():
            for statement in _statements(query):
                probe.allow(statement)
        needed = {(right.lower(), table) for right, table in probe.needed}
    finally:
        owner.execute(f"DROP OWNED BY {probed}")
        owner.execute(f"DROP ROLE {probed}")
    allowed = {(right, table) for right, tables in declared()[role].tables.items() for table in tables}
    assert (sorted(needed - allowed), sorted(allowed - needed)) == ([], [])


@pytest.mark.parametrize("role", list(declared()))
def test_a_role_may_draw_from_the_sequences_of_its_queries(role: str) -> None:
    """Such rights show only when a statement runs."""
    drawn = {name for query in _of(role).values() for name in COUNTED.findall(query)}
    assert drawn == {name for name, rights in declared()[role].sequences.items() if "usage" in rights}


def test_every_role_of_a_local_stack_that_has_a_database_is_declared() -> None:
    """The stream workers need none."""
    assert set(ROLES) - set(declared()) == {"streams"}


def test_granting_again_takes_what_is_not_declared(owner: Connection) -> None:
    """A right that somebody gave by hand is gone, and what is declared is there."""
    (first, *_) = grant_all(owner)
    owner.execute(f"GRANT DELETE ON audit TO {first}")
    grant_all(owner)
    assert _may(owner, {"audit": "DELETE", "commands": "INSERT", "zoom_tokens": "SELECT"}) == {
        "audit": False,
        "commands": True,
        "zoom_tokens": False,
    }


def test_what_belongs_to_others_is_left_alone(owner: Connection) -> None:
    """An owner who is no superuser has nothing to say about a table that somebody else keeps beside Roomkeeper's."""
    plain, stranger = (f"{name}_{owner.info.backend_pid}" for name in ("plain", "stranger"))
    expected = grant_all(owner)
    owner.execute(f"CREATE ROLE {plain} CREATEROLE; GRANT {owner.info.user} TO {plain}; CREATE ROLE {stranger}")
    try:
        owner.execute(f"CREATE TABLE another (id bigserial); ALTER TABLE another OWNER TO {stranger}")
        owner.execute(f"SET ROLE {plain}")
        assert grant_all(owner) == expected
    finally:
        owner.execute(f"RESET ROLE; DROP OWNED BY {plain}, {stranger}; DROP ROLE {plain}, {stranger}")


def _may(owner: Connection, wanted: Mapping[str, str]) -> dict[str, bool]:
    name, found = database_role("ingress"), {}
    for table, right in wanted.items():
        row = owner.execute("SELECT has_table_privilege(%s, %s, %s) AS may", (name, table, right)).fetchone()
        found[table] = bool(row and row["may"])
    return found


def test_a_role_may_not_read_anothers_secrets(settings: Settings, owner: Connection) -> None:
    """Ingress, which faces the world, sees no token of Zoom's."""
    grant_all(owner)
    with connect(settings.postgres, role="tests") as connection:
        connection.execute(f"SET ROLE {database_role('ingress')}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT FROM zoom_tokens")
