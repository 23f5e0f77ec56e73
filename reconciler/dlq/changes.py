"""`roomkeeper dlq`: the commands that change something. Each signs its actor, and asks before it changes much."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated

import click
import orjson
import typer
from rich.console import Console
from rich.progress import Progress

from reconciler.dlq.batches import Summary
from reconciler.dlq.choosing import Choice, choosing
from reconciler.dlq.courier import Courier
from reconciler.dlq.editing import difference, pretty, with_values
from reconciler.dlq.fetching import Fetcher
from reconciler.dlq.jobs import Jobs
from reconciler.dlq.letters import Filters, Letter
from reconciler.dlq.options import NOT_AS_WISHED, NOT_CONFIRMED, Actor, Desk, Held, Yes, confirm, desk
from reconciler.dlq.output import letters_in_words, line, plain, show_rehearsal, tell
from reconciler.dlq.reading import Reading, read, write
from reconciler.dlq.replay import Options, Replay
from reconciler.dlq.sending import Packing, Sender
from reconciler.dlq.transfer import bounded, imported
from runtime.cipher import Cipher
from runtime.garbage import collect_seldom
from runtime.kafka.config import MESSAGE_MAX_BYTES
from runtime.topics import DEAD_LETTERS, physical
from runtime.topics import load as load_topics
from schemas.errors import BadMessage, Misconfigured

Reason = Annotated[str, typer.Option(help="Why; kept in the ledger and the audit.")]


@choosing
def replay(
    *,
    choice: Choice,
    held: Held = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go where.")] = False,
    rate: Annotated[float | None, typer.Option(min=0.1, help="Messages a second, at most.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Messages in all, at most.")] = None,
    job: Annotated[str | None, typer.Option(help="Name of the replay; the same name goes on with it.")] = None,
    actor: Actor = None,
    yes: Yes = False,
) -> None:
    """Put messages back where they came from, in their order; exit 1 when some could not be sent."""
    with desk(actor) as at:
        now = at.clock.now()
        filters = choice.filters(now)
        options = Options(statuses=("open", "held") if held else ("open",), rate=rate, limit=limit)
        if job is not None and not filters.named:
            filters = Jobs(at.ledger).filters_of(job)
        name = job or f"replay-{now:%Y%m%dT%H%M%S.%f}"
        if dry_run:
            packing = Packing(at.settings, catalogue=load_topics(), job=name, clock=at.clock)
            show_rehearsal(islice(at.ledger.letters(filters, options.statuses), limit), packing.refusal)
            return
        count = at.ledger.count(filters, options.statuses)
        confirm(min(count, limit or count), above=at.settings.dead_letters.confirm_above, yes=yes, doing="replay")
        summary = _replay(at, name, filters, options, total=min(count, limit or count))
        _tell(name, summary)
    if summary.expired or summary.refused:
        raise typer.Exit(NOT_AS_WISHED)


def cancel(job: str, *, actor: Actor = None) -> None:
    """Stop a replay after the batch that it is at; `replay --job` goes on with it."""
    with desk(actor) as at:
        jobs = Jobs(at.ledger)
        jobs.find(job)
        ended = jobs.end(job, "cancelled")
        tell(f"{job}: {'cancelled' if ended else 'was not running'}", job=job, cancelled=ended)


@choosing
def discard(
    *,
    choice: Choice,
    reason: Reason,
    actor: Actor = None,
    yes: Yes = False,
) -> None:
    """Give up on what waits and matches. The messages stay in the topic until its retention ends."""
    with desk(actor) as at:
        filters = choice.filters(at.clock.now())
        above = at.settings.dead_letters.confirm_above
        confirm(at.ledger.count(filters), above=above, yes=yes, doing="discard")
        count = at.ledger.discard(filters, reason=reason)
        tell(f"{letters_in_words(count)} discarded", discarded=count)


def edit(
    letter_id: str,
    *,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="path=value, such as details.topic=Planning; may be repeated.")
    ] = None,
    value_file: Annotated[Path | None, typer.Option(help="Take all bytes of the value from a file.")] = None,
    reason: Annotated[str | None, typer.Option(help="Why; kept in the audit.")] = None,
    actor: Actor = None,
    yes: Yes = False,
) -> None:
    """Have another value sent in place of the original, which stays. Without options an editor opens."""
    with desk(actor) as at, Fetcher(at.settings.kafka) as fetcher:
        letter = at.ledger.letter(letter_id)
        before = _value(at, letter, fetcher)
        after = value_file.read_bytes() if value_file else _edited(read(before), before, assignments or [])
        if len(after) > MESSAGE_MAX_BYTES:
            raise BadMessage(f"{letter_id}: {len(after)} bytes would be sent, more than {MESSAGE_MAX_BYTES}")
        told = difference(_readable(before), _readable(after)) or "the bytes differ\n"
        if after == before:
            tell("nothing changed", letter_id=letter_id, changed=False)
            return
        tell(told, letter_id=letter_id, changed=True, difference=told)
        if not yes and sys.stdin.isatty() and not typer.confirm("Send this in place of the original?"):
            raise typer.Exit(NOT_CONFIRMED)
        sealed = Cipher(at.settings.security.encryption_keys).seal(after) if letter.sealed else after
        if not at.ledger.edit(letter, sealed, reason=reason):
            raise Misconfigured(f"{letter_id}: no longer waits as it was looked at; look again")


def import_letters(file: Path, *, actor: Actor = None, yes: Yes = False) -> None:
    """Put exported messages on the topic of dead letters; the ledger then has them, each once."""
    with desk(actor) as at, Sender(at.settings) as sender, file.open("rb") as lines:
        above = at.settings.dead_letters.confirm_above
        found = sum(1 for _ in bounded(lines))
        confirm(found, above=above, yes=yes, doing="import")
        lines.seek(0)
        topic = physical(DEAD_LETTERS, prefix=at.settings.kafka.topic_prefix)
        at.ledger.note("dlq.import", target=f"{letters_in_words(found)} from {file.name}")
        count = imported(lines, sender, topic=topic)
        tell(f"{letters_in_words(count)} imported", imported=count)


def _replay(at: Desk, name: str, filters: Filters, options: Options, *, total: int) -> Summary:
    jobs = Jobs(at.ledger)
    collect_seldom()
    with ExitStack() as stack:
        job = jobs.begin(name, filters)
        packing = Packing(at.settings, catalogue=load_topics(), job=name, clock=at.clock)
        courier = Courier(
            at.settings.postgres,
            job=job,
            statuses=options.statuses,
            fetcher=stack.enter_context(Fetcher(at.settings.kafka)),
            packing=packing,
            sender=stack.enter_context(Sender(at.settings)),
            clock=at.clock,
            actor=at.actor,
        )
        run = Replay(
            at.ledger.connection,
            job=job,
            jobs=jobs,
            courier=stack.enter_context(courier),
            packing=packing,
            options=options,
            clock=at.clock,
        )
        progress = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
        task = progress.add_task(name, total=total)
        return run.run(lambda count: progress.update(task, advance=count))


def _tell(job: str, summary: Summary) -> None:
    if plain(as_json=False):
        line({"job": job, **asdict(summary)})
        return
    if summary.taken == 0 and not summary.cancelled:
        typer.echo(f"{job}: nothing to replay: all that matches was replayed, discarded or held")
        return
    words = [f"{summary.sent:,} sent"]
    words += [f"{summary.expired:,} no longer in the topic"] if summary.expired else []
    words += [f"{summary.refused:,} refused"] if summary.refused else []
    words += ["cancelled"] if summary.cancelled else []
    typer.echo(f"{job}: {', '.join(words)}; see `roomkeeper dlq verify {job}`")


def _value(at: Desk, letter: Letter, fetcher: Fetcher) -> bytes:
    """The value that would be sent now, opened where it is sealed."""
    value = letter.value_in(fetcher.message_of(letter))
    if value is None:
        raise Misconfigured(f"{letter.letter_id}: its message is in the topic no more, or has no value")
    return at.opened(letter, value)


def _edited(reading: Reading, value: bytes, assignments: list[str]) -> bytes:
    if assignments:
        if not reading.editable:
            raise Misconfigured("--set: the message is neither a record nor JSON; use --value-file")
        return write(reading, with_values(reading.content, assignments))
    if reading.kind == "bytes":
        raise Misconfigured("the message is not text; use --value-file")
    text = click.edit(pretty(reading.content), extension=".txt" if reading.kind == "text" else ".json")
    if text is None:
        return value
    return text.encode() if reading.kind in ("text", "json") else write(reading, _parsed(text))


def _parsed(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Misconfigured(f"what was edited is not JSON: {error}") from error


def _readable(value: bytes) -> str:
    reading = read(value)
    return value.hex(" ") if reading.kind == "bytes" else pretty(reading.content)
