"""The table of decisions: every answer that is known of Zoom, and what it leads to (ZC43, ZC44)."""

from __future__ import annotations

import pytest

from tests.samples import rest
from zoom.client.decisions import NO_CODE, TABLE, Decision, first_rule, no_answer, rule_on
from zoom.client.endpoints import CREATE, DELETE, ENDPOINTS, GET, LIST, REGISTER, UPDATE, Endpoint

BY_NAME = {endpoint.name: endpoint for endpoint in ENDPOINTS}
KNOWN = """
    create 201 - done                  | get 200 - done                  | update 204 - done
    delete 204 - done                  | list 200 - done                 | register 201 - done
    registrants 200 - done             | registrant_status 204 - done    | end 204 - done
    past 200 - done                    | instances 200 - done            | participants 200 - done
    report 200 - done                  | webhook_logs 200 - done
    create 404 1001 refuse             | create 400 1010 refuse          | create 400 1000 refuse
    create 400 3161 refuse             | create 400 3000 refuse          | create 400 300 refuse
    create 400 200 refuse              | create 403 200 refuse           | create 400 1120 refuse
    get 400 3000 refuse                | get 400 3161 refuse             | get 404 3001 gone
    update 400 300 refuse              | update 400 3000 refuse          | update 400 3161 refuse
    update 401 124 refresh             | update 404 3001 gone            | update 429 4001 retry
    update 404 1001 refuse
    delete 400 300 refuse              | delete 400 3018 refuse          | delete 400 3037 refuse
    delete 400 3161 refuse             | delete 400 3000 refuse          | delete 404 3001 gone
    delete 400 3002 retry              | delete 400 3007 gone
    end 400 3063 refuse                | end 400 3161 refuse             | end 400 3000 refuse
    end 404 3001 gone
    list 400 3161 refuse               | list 403 2306 refuse            | list 404 1001 refuse
    past 400 200 refuse                | past 400 12702 refuse           | past 400 300 refuse
    past 404 3001 gone                 | instances 404 3001 gone         | participants 400 200 refuse
    instances 401 - refresh            | participants 404 3001 gone      | participants 400 300 refuse
    participants 400 12702 refuse      | report 400 200 refuse           | report 400 12702 refuse
    report 400 1010 refuse             | report 404 3001 gone
    register 400 3043 refuse           | register 400 3000 refuse        | register 400 3161 refuse
    register 404 1001 gone             | register 404 3001 gone
    registrants 400 300 refuse         | registrants 400 3161 refuse     | registrant_status 400 303 refuse
    create 401 124 refresh             | get 401 124 refresh             | delete 401 124 refresh
    create 401 201 refresh             | create 400 4700 refresh         | create 400 4711 alert
    create 400 4717 alert              | create 429 429 retry            | list 429 429 retry
    create 500 - unknown               | create 502 - unknown            | create 503 - unknown
    create 504 - unknown               | create 408 - unknown            | create 404 - unknown
    create 200 - unknown               | create 301 - unknown            | create 400 7777 refuse
    update 500 - unknown               | delete 503 - unknown            | register 504 - unknown
    get 500 - retry                    | list 502 - retry                | get 408 - retry
    get 404 - retry                    | get 302 - retry
"""


def known() -> list[tuple[str, int, int, str]]:
    """The lines above."""
    entries = [entry.split() for line in KNOWN.strip().splitlines() for entry in line.split("|")]
    return [(name, int(status), NO_CODE if code == "-" else int(code), then) for name, status, code, then in entries]


def decide(
    endpoint: Endpoint, status: int, code: int = NO_CODE, message: str = "", *, readable: bool = True
) -> Decision:
    """The decision alone."""
    return rule_on(endpoint, status=status, code=code, message=message, readable=readable).decision


@pytest.mark.parametrize(("name", "status", "code", "then"), known())
def test_known_answers(name: str, status: int, code: int, then: str) -> None:
    """Each known triple of endpoint, status and code leads to its decision, however Zoom words it."""
    assert {decide(BY_NAME[name], status, code, words) for words in ("", "Something new.")} == {Decision(then)}


def test_every_answer_has_a_decision() -> None:
    """No status and code of any endpoint falls through the table, and none of a call that may have acted is just repeated."""
    codes = (NO_CODE, 0, 124, 200, 300, 1001, 3001, 4700, 9999)
    for endpoint in ENDPOINTS:
        for status in range(100, 600):
            for code in codes:
                decision = decide(endpoint, status, code, readable=False)
                acted = endpoint.writes and (status >= 500 or status // 100 in (1, 2, 3))
                assert not acted or decision is Decision.UNKNOWN, (endpoint.name, status, code)


def test_every_rule_is_reached() -> None:
    """A rule that an earlier one hides would be a lie to the reader."""
    texts = {rule.text for rule in TABLE}
    statuses = (100, 200, 201, 302, 400, 401, 403, 404, 408, 418, 429, 500, 600)
    reached = {
        first_rule(endpoint, status=status, code=code, message=text)
        for endpoint in ENDPOINTS
        for status in statuses
        for code in {rule.code if rule.code is not None else 9_999 for rule in TABLE} | {NO_CODE}
        for text in texts
    }
    assert set(TABLE) == reached


@pytest.mark.parametrize(("status", "code"), [(400, 4700), (401, 201), (400, 4711)])
def test_missing_scope_asks_for_no_token(status: int, code: int) -> None:
    """Under whichever pair Zoom says it, a missing scope is an operator's matter."""
    words = "Invalid access token, does not contain scopes:[meeting:write:meeting:admin]."
    assert decide(CREATE, status, code, words) is Decision.ALERT


@pytest.mark.parametrize(
    ("endpoint", "words", "then"),
    [
        (CREATE, rest("error.429_daily_user_100")["message"], Decision.PARK),
        (
            CREATE,
            "Daily rate limit (100) of create/update reached for this user; resume at GMT 00:00:00.",
            Decision.PARK,
        ),
        (REGISTER, rest("error.429_daily_registrant_3")["message"], Decision.PARK),
        (LIST, rest("error.429_qps")["message"], Decision.RETRY),
        (
            UPDATE,
            "Too many concurrent requests. A request to change this meeting has already been made.",
            Decision.RETRY,
        ),
    ],
)
def test_kinds_of_429(endpoint: Endpoint, words: str, then: Decision) -> None:
    """A day's limit parks, a second's is tried again."""
    assert decide(endpoint, 429, 429, words) is then


@pytest.mark.parametrize(("endpoint", "status"), [(CREATE, 201), (GET, 200), (LIST, 200)])
def test_success_that_cannot_be_read(endpoint: Endpoint, status: int) -> None:
    """A success without what it must hold is none: a write may have acted, a read is read again."""
    expected = Decision.UNKNOWN if endpoint.writes else Decision.RETRY
    assert decide(endpoint, status, readable=False) is expected


def test_silence() -> None:
    """A write that was not answered may have acted."""
    assert [no_answer(each).decision for each in (CREATE, DELETE, GET)] == ["unknown", "unknown", "retry"]
