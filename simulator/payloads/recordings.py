"""Events about cloud recordings: started, paused, resumed, stopped, completed.

`completed` holds three secrets: the play passcode, the download links and a download token that differs by delivery.
"""

from __future__ import annotations

from datetime import datetime

from simulator.identifiers import Identifiers
from simulator.model import Room, Run, Stay
from simulator.payloads.envelope import Event, plain
from simulator.payloads.meetings import run_object, scheduled_object
from simulator.wire import Json, millis, second_text

_FILES = (("MP4", "MP4", "shared_screen_with_speaker_view", 30_000_000), ("CHAT", "TXT", "chat_file", 1_024))


def progress(kind: str, room: Room, run: Run, *, at: datetime, part: Stay) -> Event:
    """`recording.started`, `paused`, `resumed` or `stopped`; the end is blank while a part is open."""
    ended = second_text(part.left_at) if part.left_at else ""
    subject = _actual(room, run) | {"duration": room.details.duration_minutes}
    subject["recording_file"] = {"recording_start": second_text(part.joined_at), "recording_end": ended}
    return plain(f"recording.{kind}", room.account, subject, at=at)


def completed(room: Room, run: Run, ids: Identifiers, *, at: datetime) -> Event:
    """`recording.completed`: two files for each recorded part."""
    files = [_file(run, part, ids, form) for part in run.recorded for form in _FILES]
    minutes = max(1, int(((run.ended_at or at) - run.started_at).total_seconds() // 60))
    head = _actual(room, run)
    subject: Json = {"uuid": head.pop("uuid"), "id": head.pop("id"), "account_id": room.account.account_id, **head}
    subject |= {"duration": minutes, "total_size": sum(each["file_size"] for each in files)}
    subject |= {"recording_count": len(files), "share_url": f"https://zoom.example.com/rec/share/{ids.opaque()}"}
    subject |= {"host_email": room.host.email, "password": ids.opaque(10)}
    subject |= {"recording_play_passcode": ids.opaque(16), "on_prem": False, "auto_delete": False}
    subject |= {"recording_files": files, "participant_audio_files": []}
    body = {"payload": {"account_id": room.account.account_id, "object": subject}, "event_ts": millis(at)}
    body |= {"event": "recording.completed", "download_token": ids.opaque(40)}
    return Event(name="recording.completed", body=body)


def with_other_token(body: Json, ids: Identifiers) -> Json:
    """The same recording told again, with another download token and other links."""
    token = ids.opaque(40)
    subject = body["payload"]["object"]
    files = [{**each, "download_url": f"{each['download_url']}-{token[:6]}"} for each in subject["recording_files"]]
    payload = {**body["payload"], "object": {**subject, "recording_files": files}}
    return {**body, "payload": payload, "download_token": token}


def _actual(room: Room, run: Run) -> Json:
    subject = scheduled_object(room) | {"uuid": run.uuid, "start_time": run_object(room, run)["start_time"]}
    del subject["duration"]
    return subject


def _file(run: Run, part: Stay, ids: Identifiers, form: tuple[str, str, str, int]) -> Json:
    file_type, extension, recording_type, size = form
    return {
        "id": ids.guid().lower(),
        "meeting_id": run.uuid,
        "recording_start": second_text(part.joined_at),
        "recording_end": second_text(part.left_at or part.joined_at),
        "file_type": file_type,
        "file_extension": extension,
        "file_size": size,
        "play_url": f"https://zoom.example.com/rec/play/{ids.opaque()}",
        "download_url": f"https://zoom.example.com/rec/webhook_download/{ids.opaque()}",
        "status": "completed",
        "recording_type": recording_type,
    }
