"""Zoom's uuids in a path: any encoding of them names the same run."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.api.rooms import instance_uuid

UUIDS = ["1P2rbp0oCNjcjqP3LP5YUA==", "/a+b/c//yEqH0wZ0Q0a0w==", "//////////////////////==", "++++++++++++++++++++++=="]


def path(uuid: str) -> str:
    """The raw path of a run's attendance."""
    return f"/v1/instances/{uuid}/attendance"


@pytest.mark.parametrize("uuid", UUIDS)
def test_every_encoding_of_a_uuid_is_the_uuid(uuid: str) -> None:
    """As it is, encoded wholly or but for slashes, encoded twice, and with plus signs taken for spaces."""
    once = quote(uuid, safe="")
    small = once.replace("%2F", "%2f").replace("%2B", "%2b").replace("%3D", "%3d")
    written = [uuid, once, small, quote(uuid), quote(once, safe=""), quote(uuid.replace("+", " "), safe="/")]
    assert {instance_uuid(path(each)) for each in written} == {uuid}


@given(st.binary(min_size=16, max_size=16), st.integers(0, 3))
def test_any_uuid_survives_up_to_three_encodings(raw: bytes, times: int) -> None:
    """Every base64 text of 16 bytes comes back, however often it was encoded."""
    uuid = base64.b64encode(raw).decode()
    written = uuid
    for _ in range(times):
        written = quote(written, safe="")
    assert instance_uuid(path(written)) == uuid


@pytest.mark.parametrize("uuid", ["", "%00", "a%0Ab", "é", "a" * 129, "%FF"])
def test_what_can_be_no_uuid_is_none(uuid: str) -> None:
    """Blank, too long, or with characters that no uuid has."""
    assert instance_uuid(path(quote(uuid, safe="%"))) is None
