"""`roomkeeper dlq`: dead letters seen and understood. What changes something is in `changes`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import Annotated, Any

import typer
from confluent_kafka import Message
from rich.console import Console
from rich.live import Live

from reconciler.dlq import changes
from reconciler.dlq.choosing import Choice, choosing
from reconciler.dlq.fetching import Fetcher
from reconciler.dlq.jobs import Jobs
from reconciler.dlq.letters import Letter
from reconciler.dlq.options import NOT_AS_WISHED, Desk, StatusOption, desk, statuses
from reconciler.dlq.output import line, plain, show_jobs, show_letters, show_verdicts, stats_table, when
from reconciler.dlq.reading import hex_lines, read
from reconciler.dlq.transfer import exported
from reconciler.dlq.verify import Verifier
from schemas.dead_letters import Failure, parse_dead_letter
from schemas.errors import BadMessage, Misconfigured

WATCH_SECONDS = 2.0
EXIT_CODES = (
    "Exit codes: 0 done; 1 not as wished (a message came back, is pending, or could not be sent); 2 a wrong option, id "
    "or setting; 3 broker or database away; 4 a message that was given is none; 5 more would change than goes without "
    "asking, and nobody said yes."
)
AsJson = Annotated[bool, typer.Option("--json", help="JSON lines, on a terminal too.")]


def build() -> typer.Typer:
    """The commands below `roomkeeper dlq`."""
    app = typer.Typer(no_args_is_help=True, epilog=EXIT_CODES)
    app.callback()(_group)
    commands: dict[str, Callable[..., None]] = {
        "stats": _stats,
        "list": _list,
        "show": _show,
        "export": _export,
        "import": changes.import_letters,
        "edit": changes.edit,
        "replay": changes.replay,
        "cancel": changes.cancel,
        "jobs": _jobs,
        "discard": changes.discard,
        "verify": _verify,
    }
    for name, command in commands.items():
        app.command(name)(command)
    return app


def _group() -> None:
    """See, understand and correct dead letters, and put them back."""


def _stats(
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Again and again, until Ctrl-C.")] = False,
    json: AsJson = False,
) -> None:
    """How many there are, by status, stage, error and topic, and how old."""
    with desk() as at:
        if plain(as_json=json):
            _stats_in_lines(at)
            while watch and not Event().wait(WATCH_SECONDS):
                _stats_in_lines(at)
            return
        table = stats_table(at.ledger.stats(), now=at.clock.now())
        if not watch:
            Console().print(table)
            return
        with Live(table, auto_refresh=False) as live:
            while not Event().wait(WATCH_SECONDS):
                live.update(stats_table(at.ledger.stats(), now=at.clock.now()), refresh=True)


def _stats_in_lines(at: Desk) -> None:
    now = at.clock.now()
    for group in at.ledger.stats():
        line({"at": now} | asdict(group))
    sys.stdout.flush()


@choosing
def _list(
    *,
    choice: Choice,
    status: StatusOption = "waiting",
    limit: Annotated[int, typer.Option(min=0, help="The newest so many; 0 gives all, in their original order.")] = 50,
    json: AsJson = False,
) -> None:
    """Which there are."""
    with desk() as at:
        filters = choice.filters(at.clock.now())
        wanted = statuses(status)
        letters = at.ledger.newest(filters, wanted, limit=limit) if limit else at.ledger.letters(filters, wanted)
        show_letters(letters, as_json=json)


def _show(letter_id: str, *, json: AsJson = False) -> None:
    """One of them: its content as far as it can be read, its bytes, its error and its history."""
    with desk() as at, Fetcher(at.settings.kafka) as fetcher:
        letter = at.ledger.letter(letter_id)
        message = fetcher.message_of(letter)
        shown = _shown(at, letter, message)
        headers: Any = [] if message is None else message.headers() or []
        history = () if message is None else (*(told := parse_dead_letter(headers)).history, told.failure)
    if plain(as_json=json):
        reading = read(shown)
        content = {"kind": reading.kind, "content": reading.content, "hex": None if shown is None else shown.hex()}
        line(letter.as_plain() | content | {"history": [asdict(each) for each in history]})
        return
    _show_for_people(letter, shown, history)


def _shown(at: Desk, letter: Letter, message: Message | None) -> bytes | None:
    """The value that would be sent now, as it came: what is sealed is opened where the key is held."""
    value = letter.value_in(message)
    try:
        return None if value is None else at.opened(letter, value)
    except (BadMessage, Misconfigured):
        return value


def _show_for_people(letter: Letter, value: bytes | None, history: tuple[Failure, ...]) -> None:
    console = Console(highlight=False, markup=False)
    console.print(f"{letter.letter_id}  {letter.status}" + (f" by {letter.status_by}" if letter.status_by else ""))
    console.print(f"from {letter.origin}, key {letter.key_text or letter.message_key!r}, {letter.size_bytes} bytes")
    console.print(f"{letter.error_class}: {letter.error_message}", style="red")
    for failure in history:
        job = f", after replay {failure.job}" if failure.job else ""
        what = f"{failure.stage}: {failure.error_class}: {failure.message}{job}"
        console.print(f"  {failure.attempt}. {when(failure.failed_at)} {what}")
    if letter.edited_at:
        console.print(f"edited by {letter.edited_by} at {when(letter.edited_at)}; the original stays in the topic")
    if value is None:
        console.print("its message is in the topic no more")
        return
    reading = read(value)
    console.print(f"content: {reading.kind}" + (" (sealed)" if letter.sealed else ""))
    if reading.kind == "text":
        console.print(reading.content)
    elif reading.kind != "bytes":
        console.print_json(data=reading.content)
    for each in hex_lines(value):
        console.print(each, style="dim")


@choosing
def _export(
    *,
    choice: Choice,
    status: StatusOption = "waiting",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file in place of standard output.")] = None,
) -> None:
    """Write them as JSON lines, messages and all."""
    with desk() as at, Fetcher(at.settings.kafka) as fetcher:
        lines = exported(at.ledger.letters(choice.filters(at.clock.now()), statuses(status)), fetcher)
        if output is None:
            sys.stdout.buffer.writelines(lines)
            sys.stdout.buffer.flush()
        else:
            with output.open("wb") as file:
                file.writelines(lines)


def _jobs(*, json: AsJson = False) -> None:
    """Replays, and what came back of them."""
    with desk() as at:
        show_jobs(Jobs(at.ledger).list(), as_json=json)


def _verify(
    job: str,
    *,
    wait: Annotated[float, typer.Option(help="Seconds to wait for what is pending.")] = 0.0,
    json: AsJson = False,
) -> None:
    """Whether a replay's messages reached their read model; exit 1 when one came back or is pending."""
    with desk() as at:
        Jobs(at.ledger).find(job)
        verifier = Verifier(at.settings, at.ledger.connection)
        deadline = at.clock.monotonic_seconds() + wait
        verdicts = verifier.verify(job)
        while any(each.pending for each in verdicts) and at.clock.monotonic_seconds() < deadline:
            Event().wait(min(WATCH_SECONDS, wait))
            verdicts = verifier.verify(job)
        show_verdicts(verdicts, as_json=json)
    if any(each.pending or each.target.returned for each in verdicts):
        raise typer.Exit(NOT_AS_WISHED)
