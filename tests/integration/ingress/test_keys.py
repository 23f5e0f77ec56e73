"""API keys: made and revoked from the command line, kept as hashes, out of force within seconds, each step noted."""

from __future__ import annotations

import json

import httpx
import pytest
from typer.testing import CliRunner, Result

from ingress.keys_cli import build
from runtime.environment import environment_of
from runtime.postgres import connect
from runtime.settings import Settings
from schemas.errors import Misconfigured
from tests.ingress import ACCOUNT, OTHER_ACCOUNT, account, prepared, serving
from tests.waiting import wait_for


def keys(settings: Settings, *arguments: str) -> Result:
    """`roomkeeper keys` with these arguments."""
    result = CliRunner().invoke(build(), list(arguments), env=environment_of(settings))
    if isinstance(result.exception, Misconfigured):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_a_key_works_until_it_is_revoked(settings: Settings) -> None:
    """A key opens its account at once; revoked, it opens nothing any more within five seconds."""
    ready = prepared(settings)
    key = keys(ready, "create", "--name", "tests").output.strip()
    headers = {"authorization": f"Bearer {key}"}
    with serving(ready) as url, httpx.Client(base_url=url, headers=headers) as api:
        before = api.get("/v1/meetings").status_code
        keys(ready, "revoke", key.split("_")[1], "--reason", "lost", "--actor", "someone")
        wait_for(lambda: api.get("/v1/meetings").status_code == 401, what="the end of the key", within_seconds=5)
    assert before == 200


def test_a_key_is_kept_only_as_a_hash_and_every_step_is_noted(settings: Settings) -> None:
    """The list and the table hold no secret; `audit` says who did what to which key, and why."""
    ready = prepared(settings, topics=False)
    key = keys(ready, "create", "--name", "calendar", "--actor", "someone").output.strip()
    key_id, secret = key.split("_")[1], key.split("_", 2)[2]
    keys(ready, "revoke", key_id, "--reason", "lost", "--actor", "another")
    (listed,) = (json.loads(line) for line in keys(ready, "list").output.splitlines())
    with connect(ready.postgres, role="tests") as connection:
        stored = connection.execute("SELECT * FROM api_keys").fetchall()
        noted = connection.execute("SELECT actor, verb, target, reason FROM audit ORDER BY audit_id").fetchall()
    assert secret not in str(stored) + str(listed) + str(noted)
    assert (listed["key_id"], listed["account_id"], listed["name"]) == (key_id, ACCOUNT, "calendar")
    assert listed["revoked_at"] is not None
    assert [tuple(row.values()) for row in noted] == [
        ("someone", "key.create", key_id, f"for {ACCOUNT}: calendar"),
        ("another", "key.revoke", key_id, "lost"),
    ]


def test_an_account_must_be_one_of_the_settings(settings: Settings) -> None:
    """With several accounts one must be named, and a name that is none of them is refused."""
    ready = prepared(settings, account(ACCOUNT, "a"), account(OTHER_ACCOUNT, "b"), topics=False)
    assert keys(ready, "create", "--name", "x", "--account", OTHER_ACCOUNT).output.startswith("rk_")
    for arguments in ((), ("--account", "nobody")):
        with pytest.raises(Misconfigured, match="--account"):
            keys(ready, "create", "--name", "x", *arguments)


def test_revoking_what_is_not_in_force_says_so(settings: Settings) -> None:
    """An unknown key, and one that is revoked already, are named."""
    ready = prepared(settings, topics=False)
    with pytest.raises(Misconfigured, match="nosuchkey"):
        keys(ready, "revoke", "nosuchkey")
