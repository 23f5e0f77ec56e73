"""Named SQL queries: the `queries/*.sql` files of a package, each query under `-- name: its_name`.

The line after the name, a comment, says what the query does. Parameters are psycopg's `%(name)s`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast

from schemas.errors import Broken

_NAME = re.compile(r"^-- name: (?P<name>[a-z0-9_]+)[ \t]*$", re.MULTILINE)


@cache
def queries(package: str) -> Mapping[str, LiteralString]:
    """The queries of `package`, by name.

    Raises:
        Broken: two queries of the package share a name.
    """
    found: dict[str, LiteralString] = {}
    folder = files(package).joinpath("queries")
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        if file.name.endswith(".sql"):
            for name, text in _split(file.read_text(encoding="utf-8")):
                if name in found:
                    raise Broken(f"two queries of {package} are named {name}")
                found[name] = text
    return found


def _split(text: str) -> list[tuple[str, LiteralString]]:
    pieces = _NAME.split(text)
    # These files ship with the package: their text is as trusted as a literal.
    return [(name, cast("LiteralString", body.strip())) for name, body in zip(pieces[1::2], pieces[2::2], strict=True)]
