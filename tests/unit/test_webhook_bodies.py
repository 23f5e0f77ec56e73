"""From authentic bytes to events: tolerant reading, secrets, numbers, times and ids."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from schemas.errors import BadMessage
from schemas.records.zoom_events import ZoomEvent
from tests import samples
from zoom.webhooks import parse, read_webhook, record_key

NOW = datetime(2026, 12, 6, tzinfo=UTC)


def parsed(body: object) -> ZoomEvent:
    """The event in a body given as JSON value or bytes."""
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return parse(raw, account_id="Acct0ExampleNeutral001", request_id="r1", received_at=NOW)


def meeting(event: str = "meeting.started", /, **subject: Any) -> dict[str, Any]:
    """A small body around these fields of the object."""
    return {"event": event, "event_ts": 1796137111640, "payload": {"account_id": "A", "object": subject}}


@pytest.mark.parametrize("file", samples.event_files(), ids=lambda file: file.stem)
def test_every_sample_is_an_event_under_its_number(file: Path) -> None:
    """Each sample parses; its key is the meeting number as text, or the account where it has none."""
    body = samples.read(file)
    event = parsed(file.read_bytes())
    number = str(body["payload"].get("object", {}).get("id", ""))
    assert event.name == body["event"]
    assert record_key(event) == (number or "account:Acct0ExampleNeutral001")


def test_samples_have_as_many_ids_as_events() -> None:
    """The 51 samples hold 46 events: five are variants or repeats of another, and share its id."""
    ids = [parsed(file.read_bytes()).event_id for file in samples.event_files()]
    assert (len(ids), len(set(ids))) == (51, 46)


@pytest.mark.parametrize("file", samples.event_files(), ids=lambda file: file.stem)
def test_no_secret_of_a_sample_travels(file: Path) -> None:
    """Passcodes, host links, download links and tokens, client ids and PINs are gone; the join link stays."""
    text = parsed(file.read_bytes()).body
    for secret in (
        "x1Y2z3",
        "p@ssINVENTED",
        "INVENTEDSECRET",
        "INVENTED.JWT",
        "webhook_download",
        "Client0Example",
        "380303",
    ):
        assert secret not in text
    assert ("join_url" in text) == (b"join_url" in file.read_bytes())


def test_secrets_hide_in_nested_and_old_objects() -> None:
    """Depth, lists, `old_object` and a token inside some other link do not save a secret."""
    body = meeting("meeting.updated", id=91234567890, settings={"Password": "p4ss", "list": [{"zak": "SECRETZAK"}]})
    body["payload"]["old_object"] = {"id": 91234567890, "start_url": "https://example.com/s/1?zak=SECRETZAK"}
    body["payload"]["link"] = "https://example.com/x?a=1&zak=SECRETZAK&b=2"
    event = parsed(body)
    assert "SECRETZAK" not in event.body
    assert "p4ss" not in event.body
    assert "https://example.com/x?a=1&zak=&b=2" in event.body


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (91234567890, "91234567890"),
        ("91234567890", "91234567890"),
        (" 912 3456 7890 ", "91234567890"),
        (91234567890.0, "91234567890"),
        (2**63, str(2**63)),
        (True, None),
        ("", None),
        ("abc", None),
        (-5, None),
        (1.5, None),
        ([], None),
        ("\u0661\u0662\u0663", None),
        ("1" * 21, None),
    ],
)
def test_meeting_number_is_text_whatever_its_type(written: object, number: str | None) -> None:
    """ZC08: one number has one text, and what is no number goes to its account instead of anywhere else."""
    event = parsed(meeting(id=written, uuid="u"))
    assert event.zoom_id == number
    assert record_key(event) == (number or "account:Acct0ExampleNeutral001")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"\xff\xfe", "JSON"),
        (b"", "JSON"),
        (b"{", "JSON"),
        ([], "object"),
        (None, "object"),
        ("text", "object"),
        ({}, "event:"),
        ({"event": 5}, "event:"),
        ({"event": ""}, "event:"),
        ({"event": "a\nb", "payload": {"object": {}}}, "event:"),
        ({"event": "x" * 129, "payload": {"object": {}}}, "event:"),
        ({"event": "meeting.ended"}, "payload:"),
        ({"event": "meeting.ended", "payload": []}, "payload:"),
        ({"event": "meeting.ended", "payload": {}}, "payload.object:"),
        ({"event": "meeting.ended", "payload": {"object": "text"}}, "payload.object:"),
    ],
)
def test_what_is_no_event_names_the_field(body: object, field: str) -> None:
    """ZC07: malformed shapes are bad messages that say what is wrong, never another error."""
    with pytest.raises(BadMessage, match=field):
        parsed(body)


@pytest.mark.parametrize("depth", [70, 300, 2000])
def test_nesting_cannot_exhaust_the_stack(depth: int) -> None:
    """A body nested too deeply is a bad message."""
    raw = b'{"event":"meeting.started","payload":{"object":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}}"
    with pytest.raises(BadMessage):
        parsed(raw)


def test_app_deauthorized_needs_no_object() -> None:
    """`app_deauthorized` has no object and its times inside the payload, one of them as text with a space."""
    body = samples.webhook("app_deauthorized")
    assert parsed(body).happened_at == datetime(2026, 12, 5, 10, tzinfo=UTC)
    del body["payload"]["deauthorization_time"]
    assert parsed(body).happened_at == datetime(2026, 12, 5, 10, tzinfo=UTC)
    assert parsed(body).zoom_id is None


def test_url_validation_is_read_but_is_no_event() -> None:
    """A URL validation gives its token, and cannot become an event."""
    raw = orjson.dumps(samples.webhook("endpoint.url_validation"))
    assert read_webhook(raw).plain_token == "pT0invented0plain0token"
    with pytest.raises(BadMessage):
        parsed(raw)


@pytest.mark.parametrize("written", [None, "", "soon", True, -1, 10**13, [], {}])
def test_an_odd_event_time_is_no_time(written: object) -> None:
    """`event_ts` that is blank, absurd or of another type leaves the event without a time."""
    body = meeting(id=1, uuid="u")
    body["event_ts"] = written
    assert parsed(body).happened_at is None


def test_one_event_in_many_bytes_has_one_id() -> None:
    """ZC01: escapes, key order and white space do not change the id, and names come out as written."""
    body = samples.webhook("meeting.participant_joined.host")
    body["payload"]["object"]["participant"]["user_name"] = "Guest \U0001f680 Ünï"
    compact = orjson.dumps(body)
    sorted_keys = orjson.dumps(body, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2) + b"\n"
    escaped = compact.replace(b"=", b"\\u003d").replace(b"/", b"\\/").replace("Ü".encode(), b"\\u00dc")
    events = [parsed(raw) for raw in (compact, sorted_keys, escaped)]
    assert len({event.event_id for event in events}) == 1
    assert all("Guest \U0001f680 Ünï" in event.body for event in events)


def test_a_second_copy_that_differs_has_the_same_id() -> None:
    """ZC09: another `event_ts`, another key order and one more field are the same leave."""
    first = samples.webhook("meeting.participant_left.external_guest")
    second = samples.webhook("meeting.participant_left.external_guest")
    second["event_ts"] += 3
    second["extra"] = "zzz"
    second["payload"]["object"]["participant"]["public_ip"] = "203.0.113.7"
    assert parsed(first).event_id == parsed(second).event_id


@pytest.mark.parametrize("field", ["user_id", "leave_time"])
def test_another_leave_has_another_id(field: str) -> None:
    """Two people leaving in one second, or one leaving twice, are different events."""
    first = samples.webhook("meeting.participant_left.external_guest")
    second = samples.webhook("meeting.participant_left.external_guest")
    second["payload"]["object"]["participant"][field] = "16779999" if field == "user_id" else "2026-12-01T15:20:01Z"
    assert parsed(first).event_id != parsed(second).event_id


def test_blank_own_time_falls_back_to_event_time() -> None:
    """ZC07: a join without its time is told from another one by `event_ts`."""
    first = samples.webhook("meeting.participant_joined.host")
    first["payload"]["object"]["participant"]["join_time"] = ""
    second = orjson.loads(orjson.dumps(first))
    second["event_ts"] += 1
    assert parsed(first).event_id != parsed(second).event_id


def test_an_account_is_part_of_an_id() -> None:
    """Equal bytes heard for two accounts are two events."""
    raw = orjson.dumps(samples.webhook("meeting.started"))
    ids = {parse(raw, account_id=account, request_id=None, received_at=NOW).event_id for account in ("A", "B")}
    assert len(ids) == 2


def test_events_of_unknown_kinds_differ_by_content() -> None:
    """Two events nobody knows are told apart by their content, but not by the type of their number."""
    known = meeting("meeting.hologram_started", id="91234567890", uuid="u", size=1)
    same = meeting("meeting.hologram_started", id=91234567890, uuid="u", size=1)
    other = meeting("meeting.hologram_started", id="91234567890", uuid="u", size=2)
    assert parsed(known).event_id == parsed(same).event_id != parsed(other).event_id


def test_nul_is_replaced() -> None:
    """A NUL, which PostgreSQL cannot hold, becomes U+FFFD."""
    event = parsed(b'{"event":"meeting.started","payload":{"object":{"id":1,"topic":"a\\u0000b"}}}')
    assert orjson.loads(event.body)["payload"]["object"]["topic"] == "a\ufffdb"
