"""The command line as a whole: quick help, and errors as one line with the exit code of their family."""

from __future__ import annotations

import errno
import subprocess
import sys
from importlib import import_module

import pytest
import typer
from typer.testing import CliRunner

from roomkeeper import cli
from roomkeeper.cli import COMMANDS, Entry, compose, main
from schemas.errors import BadMessage, Broken, DecodeError, Misconfigured, Unavailable


def test_help_names_every_command_and_imports_none_of_the_roles() -> None:
    """`roomkeeper --help` is quick: it imports neither Faust nor FastAPI nor a Kafka client."""
    script = (
        "import sys; from roomkeeper.cli import compose\n"
        "try: compose(['--help'])(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('faust', 'fastapi', 'confluent_kafka', 'psycopg', 'pydantic') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"
    assert [name for name in COMMANDS if name not in shown] == []


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_can_be_asked_for_help(name: str) -> None:
    """Each entry's module exists and makes a command of that name."""
    shown = CliRunner().invoke(compose([name]), [name, "--help"])
    assert shown.exit_code == 0, shown.output


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (Broken("an invariant"), 1, "an invariant"),
        (Misconfigured("ROOMKEEPER_X: a setting"), 2, "ROOMKEEPER_X: a setting"),
        (Unavailable("the broker"), 3, "the broker"),
        (BadMessage("a message"), 4, "a message"),
        (DecodeError("bytes"), 4, "bytes"),
        (ExceptionGroup("tasks", [ExceptionGroup("more", [Misconfigured("a right")])]), 2, "a right"),
        (OSError(errno.ENOSPC, "No space left on device", "/data/x"), 3, "/data/x: No space left on device"),
    ],
)
def test_an_error_ends_the_process_with_one_line_and_the_code_of_its_family(
    error: Exception,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nobody reads a traceback to learn that a setting is missing or a disk is full."""

    def fail() -> None:
        raise error

    def build() -> typer.Typer:
        app = typer.Typer()
        app.command("fail")(fail)
        return app

    module = import_module("roomkeeper.database_command")
    monkeypatch.setattr(module, "build", build)
    monkeypatch.setitem(cli.COMMANDS, "fail", Entry(module=module.__name__, help="Fails.", alone=True))
    with pytest.raises(SystemExit) as ended:
        main(["fail"])
    assert (ended.value.code, capsys.readouterr().err) == (code, f"roomkeeper: {line}\n")


def test_a_missing_setting_is_named_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that needs the database says which variable is missing."""
    monkeypatch.delenv("ROOMKEEPER_POSTGRES__DSN", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["db", "status"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("roomkeeper: ROOMKEEPER_POSTGRES__DSN: not set")
