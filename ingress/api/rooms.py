"""`/v1/rooms` and `/v1/instances`: what happens in Zoom's rooms, and who attended for how long."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Path, Query, Request

from ingress.api.access import CallerIs, ServicesAre
from ingress.api.shapes import AttendanceShape, InstancePage, InstanceShape, PersonShape, RoomShape
from ingress.cursor import CURSOR_CHARS, decode_cursor, encode_cursor
from ingress.problems import not_found, query_problem
from ingress.reading import Row

UUID_CHARS = 128
_BEFORE_FIRST = ("infinity", "")
_UNKNOWN_START = "-infinity"
_ZOOM_ID = re.compile(r"[0-9]{1,20}")


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["rooms"])
    routes.get("/rooms/{zoom_id}", response_model=RoomShape, summary="Read a room")(read)
    routes.get("/rooms/{zoom_id}/instances", response_model=InstancePage, summary="List a room's runs")(instances)
    routes.get("/instances/{uuid:path}/attendance", response_model=AttendanceShape, summary="Read who attended a run")(
        attendance
    )
    return routes


async def read(caller: CallerIs, services: ServicesAre, zoom_id: str) -> RoomShape:
    """One room by Zoom's meeting number; spaces in it do not matter."""
    row = await services.reader.room(caller.account_id, _number(zoom_id))
    if row is None:
        raise not_found("room")
    return RoomShape(**{**row["shown"], "zoom_id": row["zoom_id"]})


async def instances(
    caller: CallerIs,
    services: ServicesAre,
    zoom_id: str,
    cursor: Annotated[
        str | None, Query(max_length=CURSOR_CHARS, description="`next_cursor` of the page before.")
    ] = None,
    limit: Annotated[int | None, Query(ge=1, le=200, description="Runs on a page.")] = None,
) -> InstancePage:
    """The runs of one room, newest first."""
    number = _number(zoom_id)
    if await services.reader.room(caller.account_id, number) is None:
        raise not_found("room")
    rows = limit or services.settings.page_size
    scope = ("instances", caller.account_id, number)
    found = await services.reader.instances(caller.account_id, number, before=_place(cursor, scope), rows=rows + 1)
    items = [_instance(row) for row in found[:rows]]
    last = items[-1] if len(found) > rows else None
    started = last.started_at.isoformat() if last and last.started_at else _UNKNOWN_START
    after = encode_cursor((started, last.uuid), scope=scope) if last else None
    return InstancePage(items=items, next_cursor=after)


async def attendance(
    caller: CallerIs,
    services: ServicesAre,
    request: Request,
    uuid: Annotated[str, Path(description="Zoom's uuid of the run.")],  # noqa: ARG001 - for the page; see instance_uuid
) -> AttendanceShape:
    """Who attended a run, person by person, and for how long: the union of each person's stays.

    Zoom's uuids hold `/`, `+` and `=`. They may be written as they are, percent-encoded, or encoded twice as Zoom's own
    API wants it.
    """
    named = instance_uuid(request.scope["raw_path"].decode("ascii"))
    row = await services.reader.instance(caller.account_id, named) if named else None
    if row is None:
        raise not_found("instance")
    people = await services.reader.attendance(caller.account_id, row["zoom_id"], row["uuid"], at=services.clock.now())
    return AttendanceShape(
        **dict(_instance(row)), zoom_id=row["zoom_id"], people=[PersonShape(**person) for person in people]
    )


def instance_uuid(raw_path: str) -> str | None:
    """The uuid between `/v1/instances/` and `/attendance`, however it was encoded; None for what can be none.

    A uuid is base64 text, so it holds no percent sign of its own, and a space can only be a plus sign that some client
    took for one.
    """
    text = raw_path.removeprefix("/v1/instances/").removesuffix("/attendance")
    for _ in range(3):
        if "%" not in text:
            break
        text = unquote(text)
    text = text.replace(" ", "+")
    return text if 0 < len(text) <= UUID_CHARS and text.isascii() and text.isprintable() else None


def _number(zoom_id: str) -> str:
    number = "".join(zoom_id.split()).replace("-", "")
    if not number.isascii() or _ZOOM_ID.fullmatch(number) is None:
        raise not_found("room")
    return number


def _instance(row: Row) -> InstanceShape:
    own = {name: row[name] for name in ("uuid", "status", "started_at", "ended_at", "end_inferred")}
    return InstanceShape(**{**row["shown"], **own})


def _place(cursor: str | None, scope: tuple[str, ...]) -> tuple[str, str]:
    if cursor is None:
        return _BEFORE_FIRST
    place = decode_cursor(cursor, scope=scope, parts=2)
    try:
        if place is not None and place[1].isprintable():
            started = place[0] if place[0] == _UNKNOWN_START else datetime.fromisoformat(place[0]).isoformat()
            return started, place[1]
    except ValueError:
        pass
    raise query_problem("cursor", "is not one that this list has given; begin again without it")
