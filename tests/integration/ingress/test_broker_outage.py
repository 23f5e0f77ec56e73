"""Nothing is acknowledged that is not in Kafka: with the broker frozen, gone, and with ingress killed in the middle."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from roomkeeper.embedded.backing import Server
from runtime.clock import SystemClock
from runtime.settings import Settings
from runtime.topics import MEETING_COMMANDS, ZOOM_EVENTS
from schemas.codec import decode
from schemas.ids import AccountId, meeting_id_for
from schemas.records.meeting_commands import CreateMeeting
from schemas.records.zoom_events import ZoomEvent
from tests.ingress import FixedClock, Receiver, new_api_key, prepared, process, records, serving
from tests.stack import Stack
from tests.waiting import wait_for

OUR_PATIENCE_SECONDS = 2.5
BODY = b'{"event":"meeting.started","event_ts":1773136800000,"payload":{"object":{"id":91000000001,"uuid":"u"}}}'


def broker_of(stack: Stack) -> Server:
    """The broker, to be broken."""
    assert stack.backing.broker is not None
    return stack.backing.broker


def test_zc11_a_broker_that_does_not_answer_means_503_in_time_and_one_that_is_back_means_204(
    private_stack: Stack,
) -> None:
    """Frozen or gone, each delivery is 503 within 2.5 s; afterwards the same one is taken, and all that was is there."""
    broker = broker_of(private_stack)
    with private_stack.corner() as corner:
        settings = prepared(corner)
        with serving(settings) as url:
            receiver = Receiver(url=url, settings=settings, clock=FixedClock(at=SystemClock().now()))
            assert receiver.post(BODY).status_code == 204
            broker.pause()
            frozen = _timed(receiver)
            broker.resume()
            wait_for(lambda: _timed(receiver)[0] == 204, what="the thawed broker's acknowledgement")
            broker.kill()
            gone = [_timed(receiver) for _ in range(2)]
            ready = httpx.get(url + "/health/ready", timeout=10)
            live = httpx.get(url + "/health/live", timeout=10)
            command = httpx.post(
                url + "/v1/meetings",
                json={"host": "h@example.com", "topic": "t", "start_time": "2026-12-01T10:00:00Z"},
                headers={"authorization": f"Bearer {new_api_key(settings)}", "idempotency-key": "k"},
                timeout=10,
            )
            broker.start()
            wait_for(lambda: _timed(receiver)[0] == 204, what="the restarted broker's acknowledgement")
            wait_for(lambda: httpx.get(url + "/health/ready", timeout=10).is_success, what="readiness")
            acknowledged = 3
            assert len(receiver.events()) >= acknowledged
    assert [status for status, _ in (frozen, *gone)] == [503, 503, 503]
    assert max(seconds for _, seconds in (frozen, *gone)) < OUR_PATIENCE_SECONDS
    assert (ready.status_code, live.status_code) == (503, 200)
    assert (command.status_code, command.json()["code"]) == (503, "unavailable")
    assert int(command.headers["retry-after"]) >= 1


def test_a_command_that_was_never_acknowledged_is_sent_again_when_it_is_repeated(private_stack: Stack) -> None:
    """503 while the broker is frozen, and nothing to be read; the repeat is taken, and all copies are one record."""
    broker = broker_of(private_stack)
    with private_stack.corner() as corner:
        settings = prepared(corner)
        headers = {"authorization": f"Bearer {new_api_key(settings)}", "idempotency-key": "cmd-0001"}
        with serving(settings) as url:
            broker.pause()
            refused = _create(url, headers)
            hidden = [httpx.get(f"{url}/v1/meetings/{_meeting_id(settings)}", headers=headers)]
            hidden += [httpx.delete(f"{url}/v1/meetings/{_meeting_id(settings)}", headers=headers)]
            broker.resume()
            accepted = _create(url, headers)
            shown = httpx.get(f"{url}/v1/meetings/{_meeting_id(settings)}", headers=headers)
            listed = httpx.get(f"{url}/v1/meetings", headers=headers).json()["items"]
        commands = [decode(message.value(), CreateMeeting) for message in records(settings, MEETING_COMMANDS)]
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
    assert [answer.status_code for answer in hidden] == [404, 404]
    assert (accepted.status_code, shown.status_code, len(listed)) == (202, 200, 1)
    assert len(set(commands)) == 1


def test_zc11_what_was_acknowledged_before_a_kill_is_in_kafka(stack: Stack) -> None:
    """Ingress is killed under load: every delivery that got its 204 is on the topic."""
    with stack.corner() as corner:
        settings = prepared(corner)
        with process(settings) as (url, child):
            clock = FixedClock(at=SystemClock().now())
            with ThreadPoolExecutor(16) as pool:
                sent = [pool.submit(_acknowledged, url, clock, settings, number) for number in range(300)]
                wait_for(lambda: sum(each.done() for each in sent) > 100, what="a hundred answers")
                child.send_signal(signal.SIGKILL)
            acknowledged = {each.result() for each in sent} - {None}
        kept = {decode(message.value(), ZoomEvent).request_id for message in records(settings, ZOOM_EVENTS)}
    assert 100 <= len(acknowledged) < 300
    assert acknowledged <= kept


def test_sigterm_ends_in_order(stack: Stack) -> None:
    """A process that is told to stop ends with 0, and takes no more connections."""
    with stack.corner() as corner, process(prepared(corner)) as (url, child):
        assert httpx.get(url + "/health/live").is_success
        child.terminate()
        assert child.wait(timeout=20) == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(url + "/health/live")


def _timed(receiver: Receiver) -> tuple[int, float]:
    """A delivery's status and how long it took."""
    receiver.clock.at = SystemClock().now()
    began = time.monotonic()
    return receiver.post(BODY).status_code, time.monotonic() - began


def _acknowledged(url: str, clock: FixedClock, settings: Settings, number: int) -> str | None:
    """The delivery's request id when it was acknowledged."""
    receiver = Receiver(url=url, settings=settings, clock=clock, request_id=f"request-{number}")
    try:
        return receiver.request_id if receiver.post(BODY).status_code == 204 else None
    except httpx.TransportError:
        return None


def _create(url: str, headers: dict[str, str]) -> httpx.Response:
    """A create."""
    body = {"host": "h@example.com", "topic": "t", "start_time": "2027-03-20T09:00:00Z"}
    return httpx.post(f"{url}/v1/meetings", json=body, headers=headers, timeout=40)


def _meeting_id(settings: Settings) -> str:
    return meeting_id_for(AccountId(settings.accounts[0].account_id), "cmd-0001")
