"""How ordered faults change the answer to a call: before it acts, after it, or instead of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from simulator import too_many
from simulator.faults import Fault, Kind
from simulator.rates import HOST_DAILY, REGISTRANT_DAILY
from simulator.refusals import Refusal
from simulator.server_protocol import abort
from simulator.too_many import RetryAfter
from simulator.wire import encode


class Silence(Response):
    """No answer at all: the connection is closed, at once or after a while."""

    def __init__(self, seconds: float) -> None:
        """Closes after `seconds`, or when the caller goes."""
        super().__init__()
        self.status_code = 0
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, _send: Send) -> None:
        """Waits, then closes."""
        if self._seconds > 0:
            try:
                async with asyncio.timeout(self._seconds):
                    while (await receive())["type"] != "http.disconnect":
                        pass
            except TimeoutError:
                pass
        abort(scope)


class CutShort(Response):
    """An answer whose connection closes in the middle of the body."""

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Sends half of what the headers promise."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        half = bytes(self.body)[: len(self.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})
        abort(scope)


def before(faults: Iterable[Fault], *, now: datetime) -> Response | None:
    """What is answered without acting, if anything."""
    for fault in faults:
        if fault.kind is Kind.TOO_MANY:
            raise refusal_of(fault, now=now)
        if fault.kind in (Kind.ERROR, Kind.HANG, Kind.ABORT) and not fault.acts:
            return _instead(fault)
    return None


async def dawdle(faults: Iterable[Fault]) -> None:
    """Waits as slow faults want it. The call has been let in: it acts afterwards, whatever became of its token."""
    for fault in faults:
        if fault.kind is Kind.SLOW and not fault.acts:
            await asyncio.sleep(fault.seconds)


async def after(faults: Iterable[Fault], answer: Response) -> Response:
    """What is answered after acting."""
    for fault in faults:
        if fault.kind is Kind.SLOW and fault.acts:
            await asyncio.sleep(fault.seconds)
        elif fault.kind in (Kind.ERROR, Kind.HANG, Kind.ABORT) and fault.acts:
            return _instead(fault)
        elif fault.kind is Kind.TRUNCATE:
            half = bytes(answer.body)[: len(answer.body) // 2]
            return Response(half, status_code=answer.status_code, media_type="application/json")
        elif fault.kind is Kind.CUT:
            return CutShort(bytes(answer.body), status_code=answer.status_code, media_type="application/json")
    return answer


def refusal_of(fault: Fault, *, now: datetime) -> Refusal:
    """The 429 that the fault orders."""
    form = RetryAfter(fault.retry_after)
    if fault.limit == "daily":
        return too_many.daily("Light", limit=6_000, now=now, form=form)
    if fault.limit == "host_daily":
        return too_many.host_daily(HOST_DAILY)
    if fault.limit == "registrant_daily":
        return too_many.registrant_daily(REGISTRANT_DAILY, "guest-01@example.com")
    return too_many.concurrent() if fault.limit == "concurrent" else too_many.per_second("Light")


def _instead(fault: Fault) -> Response:
    if fault.kind is Kind.HANG:
        return Silence(fault.seconds or 600.0)
    if fault.kind is Kind.ABORT:
        return Silence(0.0)
    body = encode({"code": fault.code, "message": fault.message}) if fault.body is None else fault.body.encode()
    return Response(body, status_code=fault.status, media_type=fault.content_type, headers=fault.headers)
