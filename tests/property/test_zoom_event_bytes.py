"""The bytes of an event built from its parts, beside the codec."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from schemas.codec import encode
from schemas.records.zoom_events import ZoomEvent
from schemas.zoom_event_bytes import zoom_event_bytes
from tests import samples
from tests.record_strategies import records
from zoom.times import moment, ms_of
from zoom.webhooks import read_webhook, record_key, zoom_event, zoom_event_record


@given(event=records(ZoomEvent))
def test_bytes_from_parts_are_those_of_the_codec(event: ZoomEvent) -> None:
    """Whatever an event holds, building it from its parts gives what encoding the value gives."""
    built = zoom_event_bytes(
        event_id=event.event_id,
        account_id=event.account_id,
        zoom_id=event.zoom_id,
        name=event.name,
        happened_ms=None if event.happened_at is None else ms_of(event.happened_at),
        received_ms=ms_of(event.received_at),
        source=event.source,
        request_id=event.request_id,
        body=event.body.encode(),
    )
    assert built == encode(event)


@pytest.mark.parametrize("file", samples.event_files(), ids=lambda file: file.stem)
def test_the_record_of_a_body_is_its_event_encoded(file: Path) -> None:
    """For every sample, the short way to a record and the way over the value end in the same key and bytes."""
    body = read_webhook(file.read_bytes())
    received_at = moment(1_796_137_111_640)
    event = zoom_event(body, account_id="Acct", request_id="r1", received_at=received_at)
    record = zoom_event_record(body, account_id="Acct", request_id="r1", received_at=received_at)
    assert record == (record_key(event), encode(event))
