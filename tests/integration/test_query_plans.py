"""What an event, a request and a pass cost does not grow with the number of meetings: each named query's plan is looked at.

The rows are a hundred thousand rooms of three years.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ingress.reading import Reader
from reconciler.outbox.service import install
from runtime.postgres import AsyncDatabase, Connection, connect
from runtime.queries import queries
from runtime.settings import Settings
from tests.crowded import ACCOUNT_ID, NOW, crowd
from tests.plans import reading
from tests.stack import Stack

ROOT = Path(__file__).parents[2]
ROOMS = 100_000
MOST_ROWS = 7_500
"""A week has 700 rooms here, of which a query may ask some tables; nothing else of them is recent or open."""
FEW_ROWS = 2_000
"""A table so small may be read from end to end: hosts, accounts, partitions, what the poller keeps for two weeks."""
Case = dict[str, Any]


def number(back: int) -> int:
    """The room so many before the last."""
    return ROOMS - back


def meeting_id(back: int) -> UUID:
    """The meeting of that room, and the name of everything else of which it has one."""
    return UUID(md5(str(number(back)).encode(), usedforsecurity=False).hexdigest())


AROUND_NOW = range(2_500, 3_500, 2)
COMMON: Case = {
    "account_id": ACCOUNT_ID,
    "accounts": [ACCOUNT_ID],
    "now": NOW,
    "at": NOW,
    "day": NOW.date(),
    "threshold": timedelta(minutes=10),
    "oldest": NOW - timedelta(days=7),
    "oldest_text": f"{NOW - timedelta(days=7):%Y-%m-%dT%H:%M:%SZ}",
    "newest_text": f"{NOW:%Y-%m-%dT%H:%M:%SZ}",
    "now_text": f"{NOW:%Y-%m-%dT%H:%M:%SZ}",
    "tomorrow_text": f"{NOW + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}",
    "before": NOW - timedelta(days=14),
    "rows": 500,
    "most": 50,
    "zoom_id": str(91_000_000_000 + number(4_000)),
    "zoom_ids": [str(91_000_000_000 + number(each)) for each in AROUND_NOW],
    "uuid": f"uuid-{number(4_000)}",
    "uuids": [f"uuid-{number(4_000)}", "another"],
    "request_ids": [f"uuid-{number(each)}" for each in range(4_000, 4_100)],
    "host": "host-1@example.com",
    "host_id": "host-1",
    "host_ids": ["host-1", "host-1@example.com"],
    "silent_since": NOW - timedelta(hours=3),
    "silent_hosts": ["host-1", "host-2"],
    "account_since": None,
    "silent": ["host-1"],
    "asked_at": NOW,
    "slow": timedelta(minutes=5),
    "listed_at": NOW,
    "due_at": NOW,
    "outcome": "done",
    "report": "{}",
    "pass_id": 1,
    "meeting_id": meeting_id(0),
    "registrant_key": meeting_id(0),
    "command_id": meeting_id(0),
    "command_ids": [meeting_id(each) for each in range(200)],
    "before_at": "infinity",
    "before_id": UUID(int=2**128 - 1),
    "before_uuid": "~",
    "key_id": "key",
    "actor": "tests",
    "reason": "tests",
    "ids": list(range(1, 101)),
    "reasons": ["tests"] * 100,
    "status": None,
    "scope": "registrant",
    "name": str(91_000_000_000 + ROOMS),
    "alias": "host-1@example.com",
    "limit": 5,
    "pause": timedelta(seconds=15),
    "probe": timedelta(seconds=15),
}
BATCH: Case = {
    "account_id": [ACCOUNT_ID] * 200,
    "meeting_id": [meeting_id(each) for each in range(200)],
    "registrant_key": [meeting_id(each) for each in range(200)],
    "command_id": [meeting_id(each) for each in range(200)],
    "provider_key": [f"{meeting_id(each)}:create:1" for each in range(200)],
    "pending_account": [ACCOUNT_ID] * 200,
    "pending_key": [f"{meeting_id(each)}:create:1" for each in range(200)],
    "zoom_id": ["1"] * 200,
    "lane": [""] * 200,
    "epoch": [1] * 200,
    "request_hash": [b""] * 200,
    "message": ["taken"] * 200,
    "decided_at": [NOW] * 200,
    "code": "conflict",
    "projection": "rooms",
    "topic": "room-events",
    "partitions": [0, 1],
    "held": [0, 0],
    "next": [1, 1],
    "runs": [0, 0],
    "idle_ms": 1000,
}
ANY_HOST: Case = {"host": None, "rows": 200}
CASES: Mapping[str, Sequence[Case]] = {
    "lag_webhook_gap": [{}, {"silent_hosts": None}],
    "find_due_hosts": [{}, {"silent_hosts": None, "account_since": NOW}],
    "list_meetings": [
        ANY_HOST,
        {**ANY_HOST, "before_at": NOW - timedelta(days=300)},
        {**ANY_HOST, "status": "cancelled"},
        {**ANY_HOST, "status": "pending"},
        {"host": "nobody@example.com", "rows": 200},
        {"host": "nobody@example.com", "status": "scheduled", "rows": 200},
    ],
    "list_instances": [{"zoom_id": "busy", "rows": 200}],
    "find_runs": [{}, {"zoom_ids": ["busy"]}],
    "settle_moved": [BATCH],
}
"""Where one set of values does not say it all."""
FILES: Mapping[str, Sequence[str]] = {
    "reconciler.poller": ("*.sql",),
    "ingress": ("*.sql",),
    "projectors": ("*.sql",),
    "reconciler": ("gateway.sql", "outbox.sql", "registrants.sql"),
}
"""By package; what is left out looks into tables that hold pending work alone."""
NEVER_PREPARED = frozenset({"list_meetings", "list_instances"})
UNPLANNED = re.compile(r"LISTEN|NOTIFY|COPY|CREATE|SELECT (true|pg_|set_)")
"""Statements without a plan, or without tables."""
COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
NAMED = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
TABLE = re.compile(r"\b(?:FROM|JOIN|USING|UPDATE) (?!SET|unnest|staged_|excluded|stored|made)\w+")


def named_queries() -> Iterator[tuple[str, str]]:
    """Every query that looks into tables, rather than only writing rows by their key."""
    for package, patterns in FILES.items():
        folder = Path(ROOT, *package.split("."), "queries")
        for file in sorted(file for pattern in patterns for file in folder.glob(pattern)):
            for name in NAMED.findall(file.read_text()):
                statement = COMMENT.sub("", queries(package)[name]).strip()
                if TABLE.search(statement) and not UNPLANNED.match(statement):
                    yield package, name


@pytest.fixture(scope="module")
def crowded(stack: Stack) -> Iterator[Connection]:
    """A connection to the crowded database."""
    with stack.corner() as settings:
        install(settings.postgres)
        crowd(settings.postgres, rooms=ROOMS)
        with connect(settings.postgres, role="tests", autocommit=True) as connection:
            yield connection


@pytest.mark.parametrize(("package", "name"), list(named_queries()))
def test_query_reads_a_bounded_number_of_rows(crowded: Connection, package: str, name: str) -> None:
    """Through indexes, and no large table from end to end, new to a connection or executed again and again."""
    usual = COMMON | BATCH if package == "projectors" else COMMON
    for case in CASES.get(name, [{}]):
        for prepared in (False, True) if name not in NEVER_PREPARED else (False,):
            found = reading(crowded, package, name, usual | case, prepared=prepared)
            assert found.rows <= MOST_ROWS, (case, prepared, found.plan)
            assert max(found.scanned.values(), default=0) <= FEW_ROWS, (case, prepared, found.plan)


async def test_lists_are_planned_for_their_filters(settings: Settings) -> None:
    """However often they are asked for, no plan for all filters is kept, as it is of other queries."""
    one = settings.postgres.model_copy(update={"pool_size": 1})
    kept = "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%%LIMIT%%'"
    before, nobody = ("infinity", str(UUID(int=0))), str(UUID(int=0))
    async with AsyncDatabase(one, role="ingress") as database:
        reader = Reader(database)
        for _ in range(12):
            await reader.meetings(ACCOUNT_ID, status=None, host=None, before=before, rows=1)
            await reader.instances(ACCOUNT_ID, "1", before=("infinity", "~"), rows=1)
            await reader.registrants(ACCOUNT_ID, nobody, status=None, before=before, rows=1)
        async with database.connection("look") as connection:
            rows = await (await connection.execute(kept)).fetchall()
    assert [row["statement"] for row in rows if "FROM registrants" not in row["statement"]] == []
    assert len(rows) == 1
