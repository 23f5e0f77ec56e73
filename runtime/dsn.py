"""A database's address, checked for its form before anybody connects. Its text is never quoted: it holds a password."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, SecretStr


def _checked(dsn: SecretStr) -> SecretStr:
    # Only who names a database pays for the client's import.
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        conninfo_to_dict(dsn.get_secret_value())
    except ProgrammingError:
        raise ValueError("must be a libpq URL, such as postgresql://user:password@host:5432/database") from None
    return dsn


Dsn = Annotated[SecretStr, AfterValidator(_checked)]
