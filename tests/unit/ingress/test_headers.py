"""Idempotency-Key, If-Match and Prefer as callers write them."""

from __future__ import annotations

import pytest

from ingress.api.headers import etag, expected_version, idempotency_key, required_key, wait_seconds
from ingress.problems import Problem


@pytest.mark.parametrize("key", ["a", "A-1_z.:/+=", "x" * 255, "two words"])
def test_keys_of_visible_characters_hold(key: str) -> None:
    """Any 1 to 255 visible ASCII characters are a key."""
    assert required_key(key) == key


@pytest.mark.parametrize("key", ["", " ", "x" * 256, "a ", "\x07", "é"])
def test_other_keys_are_named_in_the_problem(key: str) -> None:
    """What is no key is refused with the header's name."""
    with pytest.raises(Problem) as caught:
        idempotency_key(key)
    assert caught.value.errors[0].field == "Idempotency-Key"


def test_a_create_without_a_key_has_a_problem_of_its_own() -> None:
    """A missing key is told as such."""
    with pytest.raises(Problem) as caught:
        required_key(None)
    assert (caught.value.kind.code, caught.value.kind.status) == ("idempotency_key_missing", 400)


@pytest.mark.parametrize(
    ("value", "version"), [(None, None), ("*", None), ('"3"', 3), ("3", 3), ('W/"12"', 12), (' "3" ', 3)]
)
def test_if_match_names_a_version(value: str | None, version: int | None) -> None:
    """A version counts with and without quotes; no header and a star name none."""
    assert expected_version(value) == version


@pytest.mark.parametrize("value", ["", "abc", '"3", "4"', "-1", '"' + "9" * 19 + '"'])
def test_an_odd_if_match_is_refused(value: str) -> None:
    """What names no single version is refused, not ignored."""
    with pytest.raises(Problem):
        expected_version(value)


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        (None, 0),
        ("wait=10", 10),
        ("wait=99", 30),
        ("respond-async, wait=5", 5),
        ("WAIT=7", 7),
        ('wait="7"', 7),
        ("wait=-1", 0),
        ("wait=x", 0),
        ("wait", 0),
        ("wait=99999999", 0),
    ],
)
def test_prefer_wait_is_bounded_and_never_an_error(prefer: str | None, seconds: int) -> None:
    """A wait is cut at the limit; what is not understood is no preference."""
    assert wait_seconds(prefer, most=30) == seconds


def test_a_pending_meeting_has_no_etag() -> None:
    """Only a decided meeting has a version to name."""
    assert (etag(3), etag(None)) == ({"etag": '"3"'}, {})
