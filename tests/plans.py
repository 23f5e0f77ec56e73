"""What a named query reads: its plan over real rows, and how many of them the plan touched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from runtime.postgres import Connection
from runtime.queries import queries

_PARAMETER = re.compile(r"%\((\w+)\)s")
Node = Mapping[str, Any]
BEFORE_A_PLAN_IS_KEPT = 5
"""Executions that PostgreSQL plans for their values, before it considers one plan for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One execution, undone afterwards."""

    rows: int
    """Rows that were fetched from tables, those included that a filter then threw away."""
    scanned: Mapping[str, int]
    """Rows by table that was read from end to end."""
    plan: Node


def reading(connection: Connection, package: str, name: str, values: Mapping[str, Any], *, prepared: bool) -> Reading:
    """What a query reads when it is new to the connection, or when it was executed so often that a plan may be kept."""
    text = queries(package)[name]
    names = list(dict.fromkeys(_PARAMETER.findall(text)))
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", text).replace("%%", "%").rstrip(";")
    given = sql.SQL(", ").join(sql.Literal(values[each]) for each in names)
    execute = sql.SQL("EXECUTE asked ({})").format(given) if names else sql.SQL("EXECUTE asked")
    with connection.transaction(force_rollback=True):
        connection.execute(sql.SQL("PREPARE asked AS {}").format(sql.SQL(numbered)))
        for _ in range(BEFORE_A_PLAN_IS_KEPT if prepared else 0):
            connection.execute(execute)
        explain = sql.SQL("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {}").format(execute)
        row = connection.execute(explain).fetchone()
        connection.execute("DEALLOCATE asked")
    assert row is not None
    plan = row["QUERY PLAN"][0]["Plan"]
    scans = [node for node in _nodes(plan) if "Relation Name" in node and "Scan" in node["Node Type"]]
    whole = Counter[str]()
    for node in scans:
        if node["Node Type"] == "Seq Scan":
            whole[node["Relation Name"]] += _fetched(node)
    return Reading(rows=sum(_fetched(node) for node in scans), scanned=whole, plan=plan)


def _nodes(plan: Node) -> Iterator[Node]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


def _fetched(node: Node) -> int:
    names = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    return round(sum(float(node.get(name, 0)) for name in names) * float(node["Actual Loops"]))
