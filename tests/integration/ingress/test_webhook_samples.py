"""Every published body, posted as Zoom posts it, becomes one readable record under its number, and no dead letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtime.topics import DEAD_LETTERS, ZOOM_EVENTS
from schemas.codec import decode
from schemas.records.zoom_events import ZoomEvent
from tests.ingress import ACCOUNT, FixedClock, Receiver, records
from tests.integration.ingress.conftest import Running
from tests.samples import FOLDER, event_files, read
from zoom.signature import validation_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A record of `zoom-events` with its key."""

    key: bytes
    event: ZoomEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """What became of all samples."""

    statuses: Mapping[str, int]
    kept: Mapping[str, list[Kept]]
    dead: int


def name_of(file: Path) -> str:
    """The sample's name."""
    return f"{file.parent.name}/{file.stem}"


@pytest.fixture(scope="module")
def posted(running: Running) -> Posted:
    """Every sample posted once, each under its name as request id."""
    running.clock.at = FixedClock().at
    statuses: dict[str, int] = {}
    for file in event_files():
        name = name_of(file)
        sender = Receiver(url=running.url, settings=running.settings, clock=running.clock, request_id=name)
        statuses[name] = sender.post(file.read_bytes()).status_code
    kept: dict[str, list[Kept]] = {}
    for message in records(running.settings, ZOOM_EVENTS):
        event = decode(message.value(), ZoomEvent)
        kept.setdefault(str(event.request_id), []).append(Kept(key=message.key() or b"", event=event))
    return Posted(statuses=statuses, kept=kept, dead=len(records(running.settings, DEAD_LETTERS)))


@pytest.mark.parametrize("file", event_files(), ids=name_of)
def test_every_sample_lands_under_its_number(posted: Posted, file: Path) -> None:
    """204, and one record that decodes, under the meeting's number as text or `account:<id>`."""
    (kept,) = posted.kept[name_of(file)]
    number = read(file)["payload"].get("object", {}).get("id")
    key = str(number).encode() if number else f"account:{ACCOUNT}".encode()
    assert posted.statuses[name_of(file)] == 204
    assert (kept.key, kept.event.name, kept.event.account_id) == (key, read(file)["event"], ACCOUNT)


def test_no_sample_is_a_dead_letter(posted: Posted) -> None:
    """Nothing of what Zoom sends is unreadable."""
    assert posted.dead == 0


def test_the_url_validation_is_answered_and_not_kept(receiver: Receiver) -> None:
    """200 with the token that the verifying secret makes, and no record anywhere."""
    sample = FOLDER / "webhooks" / "endpoint.url_validation.json"
    answer = receiver.post(sample.read_bytes())
    token = read(sample)["payload"]["plainToken"]
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert not receiver.events()
    assert answer.json() == validation_answer(token, secret=b"unit-test-secret-A")
