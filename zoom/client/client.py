"""The REST client: every call of every role to Zoom goes through here.

Guarantees: nothing is sent without the caller's permit, asked anew before each try; gates (budgets, breaker) are passed
before each try and told of each ruling; a dead token is renewed once and the call repeated once; what had no effect is
tried again a few times; a create whose effect is not known never is. The reply says what to do, and no answer raises.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import httpx

from schemas.errors import Misconfigured, Unavailable
from zoom.client.decisions import BAD_CREDENTIALS, NO_CODE, NO_TOKEN, NOTHING_SENT, Decision, Ruling, no_answer, rule_on
from zoom.client.endpoints import CREATE, REGISTER, WEBHOOK_LOGS, Endpoint
from zoom.client.limits import Scope, resume_at, scope_of
from zoom.client.tokens import App, Token, TokenKeeper, api_base
from zoom.client.transport import Answer, Clock, NoAnswer, NothingSent, exchange, timeouts

Permit = Callable[[], Awaitable[None]]
"""Raises when the caller may not send any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call to make."""

    endpoint: Endpoint
    account_id: str
    host: str | None = None
    """Whose call it is in Zoom's limits per host; also the value of `{host}` in the path."""
    meeting: str | None = None
    """Number or uuid of the room."""
    registrant: str | None = None
    """Whose call it is in Zoom's limits per registrant."""
    query: Mapping[str, str] | None = None
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What became of a call."""

    ruling: Ruling
    answer: Answer | None = None
    """The last answer; None when none came."""
    not_before: datetime | None = None
    """Before this moment the same call is in vain."""
    scope: Scope | None = None
    """Whose daily limit it met."""
    sent: bool = False
    """Whether any try left this machine and may have had an effect."""
    overtaken: bool = False
    """Whether an earlier try was never answered: it may have its effect only now, after this one."""

    @property
    def document(self) -> Mapping[str, Any]:
        """The JSON object of the answer, empty when there is none."""
        return (self.answer.document if self.answer else None) or {}

    @property
    def code(self) -> str:
        """Zoom's code as text, or the reason where Zoom gave none."""
        return self.ruling.reason if self.answer is None or self.answer.code == NO_CODE else str(self.answer.code)

    @property
    def message(self) -> str:
        """Zoom's words, or the reason where there were none."""
        return (self.answer.message if self.answer else "") or self.ruling.reason


class Gate(Protocol):
    """Something that a call must pass: a rate budget, a circuit breaker."""

    async def enter(self, call: Call) -> Reply | None:
        """None lets the call through; a reply stops it."""

    async def leave(self, call: Call, reply: Reply) -> None:
        """What became of a call that was let through; told on every way out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """How often, and how long between."""

    most: int = 4
    first_seconds: float = 0.3
    limit_seconds: float = 5.0
    call_seconds: float = 15.0


async def always() -> None:
    """The permit of calls that hold no lease."""


class ZoomClient:
    """Calls Zoom for any of these accounts."""

    def __init__(
        self,
        apps: Mapping[str, App],
        *,
        http: httpx.AsyncClient,
        tokens: TokenKeeper,
        clock: Clock,
        uniform: Callable[[float, float], float],
        tries: Tries | None = None,
        gates: Sequence[Gate] = (),
    ) -> None:
        """`uniform` draws a number between two others, for jitter. Gates are passed in their order."""
        self._apps = apps
        self._http = http
        self._tokens = tokens
        self._clock = clock
        self._uniform = uniform
        self._tries = tries or Tries()
        self._gates = gates

    async def call(self, call: Call, *, permit: Permit = always) -> Reply:
        """What became of it, after as many tries as make sense at once."""
        reply = await self._guarded(call, permit)
        step_seconds = self._tries.first_seconds
        for _ in range(self._tries.most - 1):
            wait_seconds = self._wait(call, reply, step_seconds)
            if wait_seconds is None:
                break
            await asyncio.sleep(wait_seconds)
            step_seconds = min(step_seconds * 2, self._tries.limit_seconds)
            again = await self._guarded(call, permit)
            silent = reply.overtaken or reply.ruling.decision is Decision.UNKNOWN
            reply = replace(again, sent=reply.sent or again.sent, overtaken=silent)
        return reply

    def _wait(self, call: Call, reply: Reply, step_seconds: float) -> float | None:
        """How long to wait before the next try; None where there is to be none."""
        harmless = reply.ruling.decision is Decision.RETRY or (
            reply.ruling.decision is Decision.UNKNOWN and call.endpoint not in (CREATE, REGISTER)
        )
        if not harmless or reply.ruling.reason in _HOPELESS_SOON:
            return None
        least = 0.0
        if reply.not_before is not None:
            least = (reply.not_before - self._clock.now()).total_seconds()
            if least > self._tries.limit_seconds:
                return None
        return max(least, 0.0) + self._uniform(0.0, step_seconds)

    async def _guarded(self, call: Call, permit: Permit) -> Reply:
        """One try, between the gates. A gate that was entered is always left, also when the try is cancelled."""
        entered: list[Gate] = []
        reply = CANCELLED
        try:
            for gate in self._gates:
                stopped = await gate.enter(call)
                if stopped is not None:
                    reply = stopped
                    return reply
                entered.append(gate)
            reply = await self._authorized(call, permit)
            return reply
        finally:
            for gate in reversed(entered):
                await gate.leave(call, reply)

    async def _authorized(self, call: Call, permit: Permit) -> Reply:
        app = self._apps[call.account_id]
        token = await _token(self._tokens.current(app))
        if isinstance(token, Ruling):
            return Reply(ruling=token)
        reply = await self._once(call, app, token, permit)
        if reply.ruling.decision is not Decision.REFRESH:
            return reply
        token = await _token(self._tokens.renewed(app, dead=token))
        if isinstance(token, Ruling):
            return Reply(ruling=token)
        reply = await self._once(call, app, token, permit)
        if reply.ruling.decision is Decision.REFRESH:
            # A token that is new and dead: no third one would help.
            return Reply(ruling=Ruling(decision=Decision.ALERT, reason=reply.ruling.reason), answer=reply.answer)
        return reply

    async def _once(self, call: Call, app: App, token: Token, permit: Permit) -> Reply:
        values = {"host": call.host or "", "meeting": call.meeting or "", "app": app.client_id}
        request = self._http.build_request(
            call.endpoint.method,
            call.endpoint.url(api_base(app, token), values),
            params=dict(call.query) if call.query else None,
            json=call.body,
            headers={"authorization": f"Bearer {token.text}", "accept": "application/json"},
            timeout=timeouts(self._tries.call_seconds),
        )
        await permit()
        try:
            answer = await exchange(
                self._http,
                request,
                clock=self._clock,
                timeout_seconds=self._tries.call_seconds,
                keeps_secrets=call.endpoint is WEBHOOK_LOGS,  # original bodies; whoever reads them cleans them
            )
        except NothingSent:
            return Reply(ruling=NOTHING_SENT)
        except NoAnswer:
            return Reply(ruling=no_answer(call.endpoint), sent=True)
        return self._judged(call, answer)

    def _judged(self, call: Call, answer: Answer) -> Reply:
        readable = call.endpoint.success == 204 or _holds(call.endpoint, answer)
        ruling = rule_on(
            call.endpoint, status=answer.status, code=answer.code, message=answer.message, readable=readable
        )
        return Reply(
            ruling=ruling,
            answer=answer,
            not_before=resume_at(ruling, answer.headers, now=self._clock.now()),
            scope=scope_of(call.endpoint, answer.headers) if ruling.decision is Decision.PARK else None,
            sent=ruling.decision in (Decision.DONE, Decision.UNKNOWN),
        )


CANCELLED = Reply(ruling=Ruling(decision=Decision.UNKNOWN, reason="cancelled"), sent=True)
"""What a gate hears of a try that was abandoned."""
_HOPELESS_SOON = frozenset({"token_unavailable", "in_progress", "breaker_open", "rate_budget"})
_MUST_HOLD: Mapping[str, tuple[str, ...]] = {
    "create": ("id", "join_url"),
    "get": ("id",),
    "list": ("meetings",),
    "register": ("registrant_id",),
    "registrants": ("registrants",),
    "instances": ("meetings",),
    "participants": ("participants",),
    "report": ("participants",),
    "webhook_logs": ("webhook_logs",),
}


async def _token(asked: Awaitable[Token]) -> Token | Ruling:
    """The token, or what it means that there is none."""
    try:
        return await asked
    except Unavailable:
        return NO_TOKEN
    except Misconfigured:
        return BAD_CREDENTIALS


def _holds(endpoint: Endpoint, answer: Answer) -> bool:
    """Whether a success says what it must, so that a login page or half an answer is not taken for one."""
    return answer.document is not None and all(name in answer.document for name in _MUST_HOLD.get(endpoint.name, ()))
