"""The front of the REST side: finds the endpoint, checks the token, lets faults strike, counts, and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import format_datetime
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request
from starlette.responses import Response

from simulator import endpoints, refusals
from simulator.endpoints import Match
from simulator.faults import Fault, Kind, Subject, Target
from simulator.model import Account, Host, Room
from simulator.refusals import Refusal
from simulator.rest import logs, meetings, misbehaviour, oauth, past, registrants
from simulator.rest.calls import Answer, Call
from simulator.service import Service
from simulator.wire import Json, encode

_ACTS: Mapping[str, Callable[[Call], Answer]] = {
    "create": meetings.create,
    "list": meetings.listing,
    "upcoming": meetings.upcoming,
    "get": meetings.get,
    "update": meetings.update,
    "delete": meetings.delete,
    "status": meetings.status,
    "register": registrants.add,
    "registrants": registrants.listing,
    "registrant_status": registrants.set_status,
    "past": past.meeting,
    "instances": past.instances,
    "participants": past.participants,
    "report": past.report,
    "webhook_logs": logs.webhook_logs,
}
_TOKEN = "token"  # noqa: S105 - the name of an endpoint


class Gateway:
    """Answers Zoom's REST calls."""

    def __init__(self, service: Service) -> None:
        """Serves one simulated Zoom."""
        self._service = service

    async def call(self, request: Request) -> Response:
        """Any call below `/v2`."""
        raw_path = request.scope["raw_path"].decode("ascii").partition("?")[0]
        found = endpoints.match(request.method, raw_path.removeprefix("/v2"))
        if found is None:
            return self._finish("unknown", _refused(refusals.unknown_endpoint()))
        try:
            response = await self._call(request, found)
        except Refusal as refusal:
            response = _refused(refusal, category=found.endpoint.label)
        return self._finish(found.endpoint.name, response)

    async def token(self, request: Request) -> Response:
        """POST /oauth/token."""
        try:
            response = await self._token(request)
        except Refusal as refusal:
            response = _refused(refusal)
        return self._finish(_TOKEN, response)

    async def _call(self, request: Request, found: Match) -> Response:
        service, endpoint = self._service, found.endpoint
        claimed = self._claimed_account(request)
        room, host = self._concerned(claimed, found.values)
        faults = self._strike(endpoint.name, claimed, host, room)
        if claimed is not None and any(fault.kind is Kind.TOKEN_DEATH for fault in faults):
            service.tokens.kill(claimed)
        body = await _body(request)
        instead = misbehaviour.before(faults, now=service.clock.now())
        if instead is not None:
            return instead
        account = service.tokens.account_of(_bearer(request), scope=endpoint.scope, now=service.clock.now())
        await misbehaviour.dawdle(faults)
        now = service.clock.now()
        service.rates.charge_account(account.account_id, plan=account.plan, label=endpoint.label, now=now)
        if host is not None:
            service.host_calls[host.email, endpoint.name] += 1
            if endpoint.host_budget:
                service.rates.charge_host(account.account_id, host_id=host.host_id, now=now)
        call = Call(
            service=service,
            endpoint=endpoint,
            account=account,
            values=found.values,
            ambiguous=found.ambiguous,
            query=request.query_params,
            body=body,
            now=now,
            host=host,
            room=room,
            faults=faults,
        )
        return await misbehaviour.after(faults, _response(_ACTS[endpoint.name](call), category=endpoint.label))

    async def _token(self, request: Request) -> Response:
        authorization = request.headers.get("authorization")
        claimed = oauth.client(self._service, authorization)
        faults = self._strike(_TOKEN, claimed, None, None)
        parameters = dict(request.query_params) | dict(_form(await request.body()))
        now = self._service.clock.now()
        instead = misbehaviour.before(faults, now=now)
        if instead is not None:
            return instead
        await misbehaviour.dawdle(faults)
        body = oauth.token(
            self._service,
            parameters=parameters,
            authorization=authorization,
            api_url=str(request.base_url).rstrip("/"),
            now=now,
        )
        return await misbehaviour.after(faults, _response(Answer(status=200, body=body)))

    def _strike(self, name: str, account: Account | None, host: Host | None, room: Room | None) -> list[Fault]:
        subject = Subject(
            target=Target.REST,
            name=name,
            account_id=account.account_id if account else None,
            hosts=(host.email, host.host_id) if host else (),
            zoom_id=str(room.number) if room else None,
        )
        return self._service.faults.strike(subject)

    def _claimed_account(self, request: Request) -> Account | None:
        return self._service.tokens.owner(_bearer(request))

    def _concerned(self, account: Account | None, values: Mapping[str, str]) -> tuple[Room | None, Host | None]:
        if account is None:
            return None, None
        if "host" in values:
            return None, account.find_host(values["host"])
        room = self._service.world.find_room(values.get("meeting", ""))
        if room is None or room.account is not account:
            return None, None
        return room, room.host

    def _finish(self, endpoint: str, response: Response) -> Response:
        self._service.calls[endpoint, response.status_code] += 1
        # The server's own Date would not follow a shifted clock.
        response.headers["date"] = format_datetime(self._service.clock.now(), usegmt=True)
        return response


def _response(answer: Answer, *, category: str | None = None) -> Response:
    headers = {"X-RateLimit-Category": category, **answer.headers} if category else dict(answer.headers)
    if answer.body is None:
        return Response(status_code=answer.status, headers=headers)
    return Response(encode(answer.body), status_code=answer.status, headers=headers, media_type="application/json")


def _refused(refusal: Refusal, *, category: str | None = None) -> Response:
    headers = {"X-RateLimit-Category": category, **refusal.headers} if category else dict(refusal.headers)
    return Response(encode(refusal.body), status_code=refusal.status, headers=headers, media_type="application/json")


def _bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else None


def _form(body: bytes) -> list[tuple[str, str]]:
    return parse_qsl(body.decode("latin-1"))


async def _body(request: Request) -> Json:
    raw = await request.body()
    if not raw:
        return {}
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, refusals.VALIDATION, "Request Body should be a valid JSON object.") from error
    if not isinstance(body, dict):
        raise Refusal(400, refusals.VALIDATION, "Request Body should be a valid JSON object.")
    return body
