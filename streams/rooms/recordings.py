"""Facts about recordings: the run knows when recording went on and off, each file is an entry of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.rooms.entry import Register
from streams.rooms.delta import Delta, heard, registers_at, room
from streams.rooms.fact import Fact, identifier
from streams.rooms.runs import run_uuid

_OF_ALL_FILES = {
    "share_url": "share_url",
    "total_size": "recordings_bytes",
    "recording_count": "recordings",
    "auto_delete_date": "recordings_deleted_on",
}


def recording(fact: Fact) -> list[Delta]:
    """`recording.started`, `paused`, `resumed` and `stopped`: a point in the run, at the file's own start or end."""
    what = fact.name.removeprefix("recording.")
    found = fact.subject.get("recording_file")
    file = found if isinstance(found, dict) else {}
    field = "recording_start" if what in {"started", "resumed"} else "recording_end"
    own = fact.own_time(file.get(field), f"recording_file.{field}")
    at = fact.time if own is None else own
    points = {} if at is None else {"recording": ((at, what),)}
    return [Delta(fact, "instance", (run_uuid(fact),), points=points), room(fact)]


def recording_completed(fact: Fact) -> list[Delta]:
    """`recording.completed`: the files, and what they have in common."""
    uuid = run_uuid(fact)
    registers = registers_at(fact.clock(), heard(fact.subject, _OF_ALL_FILES))
    files = [_file(fact, uuid, file) for file in _files(fact.subject)]
    return [*files, Delta(fact, "instance", (uuid,), registers=registers), room(fact)]


def _file(fact: Fact, uuid: str, file: Mapping[str, Any]) -> Delta:
    fields = {
        name: value for name, value in file.items() if name not in {"id", "meeting_id"} and value not in ("", None)
    }
    registers: dict[str, Register] = registers_at(fact.clock(), fields)
    completed = {"completed": 1} if file.get("status") == "completed" else {}
    return Delta(
        fact,
        "recording",
        (uuid, identifier(file.get("id"), "recording_files.id")),
        registers=registers,
        maxima=completed,
    )


def _files(subject: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for name in ("recording_files", "participant_audio_files"):
        listed = subject.get(name)
        if isinstance(listed, list):
            for file in listed:
                if isinstance(file, dict) and identifier(file.get("id"), "recording_files.id"):
                    yield file
