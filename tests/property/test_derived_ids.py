"""Ids that are derived."""

from __future__ import annotations

from uuid import uuid5

from hypothesis import given
from hypothesis import strategies as st

from schemas.ids import NAMESPACE, derive


@given(st.lists(st.text(), min_size=1))
def test_a_derived_id_is_a_uuid5(parts: list[str]) -> None:
    """The quick way gives what the standard library gives."""
    assert derive(*parts) == str(uuid5(NAMESPACE, "".join(f"{len(part)}:{part}" for part in parts)))


@given(st.lists(st.text(), min_size=1, max_size=4), st.lists(st.text(), min_size=1, max_size=4))
def test_different_parts_have_different_ids(left: list[str], right: list[str]) -> None:
    """No two lists of parts share an id, wherever the text is cut."""
    assert (derive(*left) == derive(*right)) is (left == right)
