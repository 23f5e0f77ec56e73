"""The simple fold that every side runs: a meeting's last status by event time, in a state of about 300 bytes."""

from __future__ import annotations

from bench.streams.codec import Plain

TABLE = "status"

_KEPT = ("event_id", "status", "happened_at_ms", "topic", "host_email", "join_url", "agenda")


def is_newer(event: Plain, before: Plain | None) -> bool:
    """Whether the event says more than the status known so far; equal times are decided by the greater event id."""
    if before is None:
        return True
    when, known = event["happened_at_ms"], before["happened_at_ms"]
    return bool(when > known or (when == known and event["event_id"] > before["event_id"]))


def status_of(event: Plain) -> Plain:
    """The status that an event sets."""
    return {name: event[name] for name in _KEPT}


def answer_to(event: Plain, *, after: Plain, applied: bool) -> Plain:
    """The one output of an event."""
    return {
        "event_id": event["event_id"],
        "meeting_id": event["meeting_id"],
        "status": after["status"],
        "happened_at_ms": after["happened_at_ms"],
        "applied": applied,
    }
