"""Meetings that are over: the meeting, its instances, its participants, the report.

A number stands for the last run; a uuid for its own. Only paid plans have them, and only once a run is over.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from simulator import answers, refusals
from simulator.config import Plan
from simulator.model import Room, Run
from simulator.pages import page
from simulator.rest.calls import Answer, Call
from simulator.wire import Json, second_text

_YEAR = timedelta(days=365)


def meeting(call: Call) -> Answer:
    """GET /past_meetings/{meeting}."""
    room, run = _finished(call)
    return Answer(status=200, body=answers.past_meeting(room, run, now=call.now))


def instances(call: Call) -> Answer:
    """GET /past_meetings/{meeting}/instances: finished runs of a number."""
    room = call.service.world.find_room(call.values["meeting"])
    if room is None or room.account is not call.account:
        raise refusals.no_such_meeting(call.values["meeting"])
    finished = [run for run in room.runs if _is_shown(call, run)]
    items = [{"uuid": run.uuid, "start_time": second_text(run.started_at)} for run in finished]
    return Answer(status=200, body={"meetings": items})


def participants(call: Call) -> Answer:
    """GET /past_meetings/{meeting}/participants."""
    return _rows(call, answers.participants)


def report(call: Call) -> Answer:
    """GET /report/meetings/{meeting}/participants."""
    return _rows(call, answers.report)


def _rows(call: Call, rows_of: Callable[..., list[Json]]) -> Answer:
    room, run = _finished(call)
    one = page(rows_of(room, run, now=call.now), query=call.query, now=call.now)
    head: Json = {"page_count": -(-one.total // one.size), "page_size": one.size, "total_records": one.total}
    return Answer(status=200, body=head | {"next_page_token": one.next_token, "participants": list(one.items)})


def _finished(call: Call) -> tuple[Room, Run]:
    if call.account.plan is Plan.FREE:
        raise refusals.paid_only()
    found = _find(call, call.values["meeting"])
    if found is None:
        raise refusals.no_such_meeting(call.values["meeting"])
    room, run = found
    if _is_old(run, call.now):
        raise refusals.too_old()
    return room, run


def _find(call: Call, key: str) -> tuple[Room, Run] | None:
    room = call.service.world.find_room(key)
    if room is not None and room.account is call.account:
        finished = [run for run in room.runs if _is_shown(call, run)]
        return (room, finished[-1]) if finished else None
    # Such a uuid, decoded once by now, was not encoded twice: Zoom does not find it.
    found = None if call.ambiguous else call.service.world.find_run(key)
    if found is None or found[0].account is not call.account or not _is_shown(call, found[1]):
        return None
    return found


def _is_shown(call: Call, run: Run) -> bool:
    lag = timedelta(seconds=call.service.past_lag_seconds)
    return run.ended_at is not None and run.ended_at + lag <= call.now


def _is_old(run: Run, now: datetime) -> bool:
    return run.ended_at is not None and now - run.ended_at > _YEAR
