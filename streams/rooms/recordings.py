"""Facts about recordings: the run knows when recording went on and off, each file is an entry of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streams.rooms.delta import Delta, heard, registers_but, registers_of
from streams.rooms.fact import Fact, identifier

_OF_ALL_FILES = (
    ("share_url", "share_url"),
    ("total_size", "recordings_bytes"),
    ("recording_count", "recordings"),
    ("auto_delete_date", "recordings_deleted_on"),
)
_FILE_APART = frozenset({"id", "meeting_id"})


def recording(fact: Fact) -> list[Delta]:
    """`recording.started`, `paused`, `resumed` and `stopped`: a point in the run, at the file's own start or end."""
    what = fact.name.removeprefix("recording.")
    found = fact.subject.get("recording_file")
    file = found if isinstance(found, dict) else {}
    field = "recording_start" if what in {"started", "resumed"} else "recording_end"
    own = fact.own_time(file.get(field), f"recording_file.{field}")
    at = fact.time if own is None else own
    points = {} if at is None else {"recording": ((at, what),)}
    return [Delta(fact, "instance", (fact.uuid,), points=points, maxima=heard(fact, proves=False))]


def recording_completed(fact: Fact) -> list[Delta]:
    """`recording.completed`: the files, and what they have in common."""
    registers = registers_of(fact.clock, fact.subject, _OF_ALL_FILES)
    files = [_file(fact, file) for file in _files(fact.subject)]
    return [*files, Delta(fact, "instance", (fact.uuid,), registers, maxima=heard(fact, proves=False))]


def _file(fact: Fact, file: Mapping[str, Any]) -> Delta:
    registers = registers_but(fact.clock, file, _FILE_APART)
    completed = {"completed": 1} if file.get("status") == "completed" else {}
    return Delta(
        fact,
        "recording",
        (fact.uuid, identifier(file.get("id"), "recording_files.id")),
        registers,
        maxima=completed,
    )


def _files(subject: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for name in ("recording_files", "participant_audio_files"):
        listed = subject.get(name)
        if isinstance(listed, list):
            for file in listed:
                if isinstance(file, dict) and identifier(file.get("id"), "recording_files.id"):
                    yield file
