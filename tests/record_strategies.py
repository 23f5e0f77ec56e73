"""Hypothesis strategies for every record, derived from its dataclass: what the types allow, and nothing else."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

R = TypeVar("R")

LONGS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
TEXTS = st.text(max_size=40)
MOMENTS = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 1, 1), timezones=st.just(UTC)).map(
    lambda moment: moment - timedelta(microseconds=moment.microsecond % 1000)
)


def records(record: type[R]) -> st.SearchStrategy[R]:
    """Any value of this dataclass."""
    hints = get_type_hints(record)
    return st.builds(record, **{each.name: _values(hints[each.name]) for each in fields(record)})  # type: ignore[arg-type]


def _values(hint: Any) -> st.SearchStrategy[Any]:
    scalars = {str: TEXTS, int: LONGS, bool: st.booleans(), bytes: st.binary(max_size=60), datetime: MOMENTS}
    if hint in scalars:
        return scalars[hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return records(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return st.one_of(st.none(), *(_values(each) for each in arguments if each is not NoneType))
    if origin is tuple:
        return st.lists(_values(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(TEXTS, _values(arguments[1]), max_size=3)
    raise AssertionError(f"no strategy for {hint}: extend this file")
