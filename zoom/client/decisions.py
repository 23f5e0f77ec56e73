"""What Zoom's answers mean: one table, read from the top, the first rule that fits decides.

The same code means different things at different endpoints, so a rule looks at the endpoint, the status and the code.
Texts decide only where Zoom itself gives nothing else to tell cases apart: a missing scope, and the kinds of 429.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from zoom.client.endpoints import Endpoint


class Decision(StrEnum):
    """What to do next."""

    DONE = "done"
    """It worked."""
    GONE = "gone"
    """The meeting is not there (any more). For a delete this is as good as done."""
    REFUSE = "refuse"
    """It can never work as it is: tell whoever asked."""
    RETRY = "retry"
    """It had no effect; again later."""
    PARK = "park"
    """It had no effect and will have none before a day's limit ends."""
    REFRESH = "refresh"
    """The token is dead: a new one, and the same call once more."""
    ALERT = "alert"
    """The app is not what it should be; an operator must act. It had no effect."""
    UNKNOWN = "unknown"
    """It may have had its effect: look before doing it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A decision with its reason."""

    decision: Decision
    reason: str
    """One word for logs, metrics and the meeting's problem."""


ANY = "*"
NO_CODE = -1
"""The body has no code that could be read: it is from something on the way, not from Zoom's API."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the table."""

    endpoints: str
    """Names, separated by spaces, `*` for all, `write` or `read` for those that do or do not change anything."""
    status: str
    """A status, a class such as `5xx`, or `*`."""
    code: int | None
    """Zoom's code, `NO_CODE`, or None for any."""
    decision: Decision
    reason: str
    text: str = ""
    """What the message must hold, in lower case."""


_D = Decision
TABLE: tuple[Rule, ...] = (
    # The app's permission. Zoom has three pairs of status and code for a missing scope; the text is the same.
    Rule(ANY, "4xx", None, _D.ALERT, "missing_scope", text="does not contain scopes"),
    Rule(ANY, "401", 124, _D.REFRESH, "token_dead"),
    Rule(ANY, "401", None, _D.REFRESH, "unauthorized"),
    Rule(ANY, "4xx", 4700, _D.REFRESH, "token_dead"),
    Rule(ANY, "4xx", 4711, _D.ALERT, "missing_scope"),
    Rule(ANY, "4xx", 4717, _D.ALERT, "app_disabled"),
    # Limits. Only the text tells a day's limit from a second's; whose limit it is, `limits` finds out.
    Rule(ANY, "429", None, _D.PARK, "daily_limit", text="daily"),
    Rule(ANY, "429", None, _D.PARK, "daily_limit", text="per day"),
    Rule(ANY, "429", None, _D.PARK, "daily_limit", text="00:00"),
    Rule(ANY, "429", None, _D.RETRY, "concurrent_requests", text="concurrent"),
    Rule(ANY, "429", None, _D.RETRY, "rate_limit"),
    # The meeting is not there.
    Rule("register", "404", 1001, _D.GONE, "meeting_not_found"),  # a missing user's code, says Zoom's reference
    Rule(ANY, "404", 3001, _D.GONE, "meeting_not_found"),
    Rule("delete", "400", 3007, _D.GONE, "meeting_ended"),
    # The host, or who calls, cannot do this.
    Rule(ANY, "404", 1001, _D.REFUSE, "host_not_found"),
    Rule(ANY, "4xx", 1010, _D.REFUSE, "host_not_in_account"),
    Rule(ANY, "4xx", 1000, _D.REFUSE, "host_pending"),
    Rule(ANY, "4xx", 1120, _D.REFUSE, "host_pending"),
    Rule(ANY, "4xx", 3161, _D.REFUSE, "hosting_not_allowed"),
    Rule(ANY, "4xx", 2306, _D.REFUSE, "not_permitted"),
    Rule(ANY, "4xx", 200, _D.REFUSE, "no_permission_or_unpaid"),
    Rule(ANY, "4xx", 12702, _D.REFUSE, "too_old"),
    # The request cannot be taken.
    Rule("delete", "400", 3002, _D.RETRY, "in_progress"),  # Zoom deletes no running meeting: it will end
    Rule("delete", "400", 3018, _D.REFUSE, "personal_room"),
    Rule("delete", "400", 3037, _D.REFUSE, "personal_audio"),
    Rule("end", "400", 3063, _D.REFUSE, "not_in_progress"),
    Rule("register", "400", 3043, _D.REFUSE, "meeting_full"),
    Rule("registrants registrant_status", "400", 303, _D.REFUSE, "wrong_type"),
    Rule(ANY, "4xx", 300, _D.REFUSE, "invalid"),
    Rule(ANY, "4xx", 3000, _D.REFUSE, "not_accessible"),
    # Not from Zoom's API, or not known: what changes something may have done so.
    Rule("write", "408", None, _D.UNKNOWN, "timeout"),
    Rule("write", "5xx", None, _D.UNKNOWN, "server_error"),
    Rule("write", "4xx", NO_CODE, _D.UNKNOWN, "unreadable"),
    Rule("write", "3xx", None, _D.UNKNOWN, "redirected"),
    Rule("write", "2xx", None, _D.UNKNOWN, "unreadable_success"),
    Rule("write", "1xx", None, _D.UNKNOWN, "unreadable"),
    Rule("read", "408", None, _D.RETRY, "timeout"),
    Rule("read", "5xx", None, _D.RETRY, "server_error"),
    Rule("read", "4xx", NO_CODE, _D.RETRY, "unreadable"),
    Rule("read", "3xx", None, _D.RETRY, "redirected"),
    Rule("read", "2xx", None, _D.RETRY, "unreadable_success"),
    Rule("read", "1xx", None, _D.RETRY, "unreadable"),
    # Zoom said no in words we do not know.
    Rule(ANY, "4xx", None, _D.REFUSE, "refused"),
    Rule("write", ANY, None, _D.UNKNOWN, "unreadable"),
    Rule("read", ANY, None, _D.RETRY, "unreadable"),
)

NOTHING_SENT = Ruling(decision=Decision.RETRY, reason="unreachable")
"""The connection never stood: no effect."""
NO_TOKEN = Ruling(decision=Decision.RETRY, reason="token_unavailable")
BAD_CREDENTIALS = Ruling(decision=Decision.ALERT, reason="credentials_refused")


def rule_on(endpoint: Endpoint, *, status: int, code: int, message: str, readable: bool) -> Ruling:
    """What an answer means. `readable` says whether the body of a success holds what it must."""
    if status == endpoint.success and readable:
        return Ruling(decision=Decision.DONE, reason="done")
    rule = first_rule(endpoint, status=status, code=code, message=message)
    return Ruling(decision=rule.decision, reason=rule.reason)


def first_rule(endpoint: Endpoint, *, status: int, code: int, message: str) -> Rule:
    """The line of the table that decides about an answer which is no readable success."""
    lowered = message.lower()
    return next(each for each in TABLE if _fits(each, endpoint, status=status, code=code, text=lowered))


def no_answer(endpoint: Endpoint) -> Ruling:
    """What silence means, once something was sent."""
    return Ruling(decision=Decision.UNKNOWN if endpoint.writes else Decision.RETRY, reason="no_answer")


def _fits(rule: Rule, endpoint: Endpoint, *, status: int, code: int, text: str) -> bool:
    return (
        rule.status in (ANY, str(status), f"{status // 100}xx")
        and rule.code in (None, code)
        and rule.text in text
        and _concerns(rule.endpoints, endpoint)
    )


def _concerns(endpoints: str, endpoint: Endpoint) -> bool:
    if endpoints in (ANY, "write" if endpoint.writes else "read"):
        return True
    return endpoint.name in endpoints.split(" ")
