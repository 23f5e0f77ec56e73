"""Refused webhooks leave one record for each reason, minute and process, and nothing else."""

from __future__ import annotations

from runtime.topics import DEAD_LETTERS, SECURITY_ALERTS, ZOOM_EVENTS
from schemas.codec import decode
from schemas.records.security_alerts import SecurityAlert
from tests.ingress import ACCOUNT, FixedClock, Receiver, account, prepared, records, serving
from tests.stack import Stack
from tests.waiting import wait_for


def alerts(receiver: Receiver) -> list[SecurityAlert]:
    """What lies on `security-alerts`."""
    return [decode(message.value(), SecurityAlert) for message in records(receiver.settings, SECURITY_ALERTS)]


def test_a_refusal_tells_where_it_was_asked_for(stack: Stack) -> None:
    """A body for another account is told with the path that it came to, whatever account it claims."""
    other = {"event": "meeting.started", "payload": {"account_id": "other", "object": {"id": 1, "uuid": "u"}}}
    clock = FixedClock()
    with stack.corner() as corner:
        settings = prepared(corner, account(ACCOUNT, "right"), account("other", "another"))
        with serving(settings, clock=clock) as url:
            receiver = Receiver(url=url, settings=settings, clock=clock)
            assert receiver.post(other, secret="right").status_code == 401
        (alert,) = alerts(receiver)
    assert (alert.reason, alert.account_id, alert.path) == ("account_unknown", "other", "/webhooks/zoom")


def test_refusals_are_told_once_per_reason_and_minute(stack: Stack) -> None:
    """Sixty refusals of three kinds in two minutes are five records whose counts add up; no other topic has a trace."""
    clock = FixedClock()
    with stack.corner() as corner:
        settings = prepared(corner, account(ACCOUNT, "right"))
        with serving(settings, clock=clock) as url:
            receiver = Receiver(url=url, settings=settings, clock=clock)
            for _ in range(20):
                receiver.post(b"{}", secret="wrong")
                receiver.post(b"{}", headers={"x-zm-signature": None})
            clock.advance(minutes=1)
            for number in range(20):
                receiver.post(b"{}", secret="wrong", path=f"/webhooks/zoom/{ACCOUNT}" if number else "/webhooks/zoom")
            receiver.post(b"{}", path="/webhooks/zoom/nobody")
            first_minute = wait_for(lambda: alerts(receiver), what="the first minute's records")
        found = alerts(receiver)
        traces = records(settings, ZOOM_EVENTS) + records(settings, DEAD_LETTERS)
    counts = [(alert.reason, alert.count, alert.account_id) for alert in found]
    assert sorted(alert.reason for alert in first_minute) == ["signature_mismatch", "signature_missing"]
    assert sorted(counts, key=str) == [
        ("secret_missing", 1, None),
        ("signature_mismatch", 20, None),
        ("signature_mismatch", 20, None),
        ("signature_missing", 20, None),
    ]
    assert {alert.path for alert in found} == {"/webhooks/zoom", "/webhooks/zoom/{account}"}
    assert len({(alert.process, alert.alert_id) for alert in found}) == 4
    assert not traces
