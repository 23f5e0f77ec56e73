"""The app's webhook logs: every attempt of the last seven days, with the original bytes.

Source: Zoom's marketplace reference.
"""

from __future__ import annotations

from datetime import UTC, datetime

from simulator import refusals
from simulator.delivery_log import DAYS_KEPT, Attempt
from simulator.pages import number, page
from simulator.refusals import Refusal
from simulator.rest.calls import Answer, Call
from simulator.wire import Json, encode

_ALL, _FAILED, _DELIVERED = 1, 2, 3
_MOST_RETRIES = 3


def webhook_logs(call: Call) -> Answer:
    """GET /marketplace/apps/{app}/webhook_logs."""
    if call.values["app"] != call.account.client_id:
        raise refusals.no_such_app(call.values["app"])
    since, until = _span(call)
    kind = number(call.query, "type", usual=_FAILED)
    retry_num = _retry_num(call)
    event = call.query.get("event")
    found = [
        attempt
        for attempt in call.service.deliveries.log.newest(call.account.account_id, now=call.now)
        if since <= attempt.at <= until
        and event in (None, attempt.event)
        and retry_num in (None, attempt.retry_num)
        and (kind == _ALL or attempt.delivered == (kind == _DELIVERED))
    ]
    one = page(found, query=call.query, now=call.now)
    logs = [_entry(attempt) for attempt in one.items]
    return Answer(status=200, body={"next_page_token": one.next_token, "page_size": one.size, "webhook_logs": logs})


def _entry(attempt: Attempt) -> Json:
    entry: Json = {"event": attempt.event, "status": attempt.status}
    if attempt.reason is not None:
        entry["failed_reason_type"] = attempt.reason
    return entry | {
        "user_id": "",
        "endpoint": attempt.endpoint,
        "subscription_id": attempt.account_id,
        "request_headers": encode(dict(attempt.headers)).decode(),
        "request_body": attempt.body.decode(errors="replace"),
        "response_headers": "{}",
        "response_body": attempt.answer.decode(errors="replace"),
        "date_time": attempt.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "trace_id": attempt.tracking_id,
        "request_id": attempt.request_id,
        "retry_num": attempt.retry_num,
    }


def _span(call: Call) -> tuple[datetime, datetime]:
    until = _instant(call, "to") or call.now
    since = _instant(call, "from") or call.now - DAYS_KEPT
    if until < since:
        raise Refusal(404, 1501, "The 'to' date must be after the 'from' date.")
    if until - since > DAYS_KEPT:
        raise Refusal(404, 1502, "The date range must be within the last seven days.")
    return since, until


def _instant(call: Call, name: str) -> datetime | None:
    text = call.query.get(name)
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise refusals.invalid_fields(name) from error
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _retry_num(call: Call) -> int | None:
    if "retry_num" not in call.query:
        return None
    retry_num = number(call.query, "retry_num", usual=0)
    if retry_num > _MOST_RETRIES:
        raise Refusal(400, 1506, "The 'retry_num' value must be an integer within the range of 0 to 3.")
    return retry_num
