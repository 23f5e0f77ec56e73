"""One HTTP exchange with Zoom: bounded in time and size, secrets taken out, errors translated.

Guarantees: an exchange ends within its time-out whatever the other side does; a body larger than the limit is not read;
what leaves here holds no start link, passcode or token, and no NUL, which the database takes in no text. Redirects are
not followed: Zoom's API has none, and a token must not travel to where one points.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import httpx
import orjson

from schemas.errors import BadMessage
from zoom.client.decisions import NO_CODE
from zoom.webhooks.redaction import without_nul, without_secrets

MOST_BODY_BYTES = 4_194_304
"""A page of 300 meetings with long topics is about 300 kB."""
CONNECT_SECONDS = 5.0
MESSAGE_CHARS = 300

_XML_CODE = re.compile(r"<code>\s*(\d{1,6})\s*</code>")
_XML_MESSAGE = re.compile(r"<message>\s*([^<]{0,300})</message>")
_NUL = b"\\u0000"
"""How JSON writes it."""
_BEARER = re.compile(r"(?i)\b(?:bearer|basic)\s+[^\s\"',;]+")


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The present moment."""

    def monotonic_seconds(self) -> float:
        """Seconds that never step back."""


class NothingSent(Exception):
    """The request never left: no effect."""


class NoAnswer(Exception):
    """The request left, or may have, and no whole answer came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    document: Mapping[str, Any] | None
    """The JSON object of a success, without secrets; None when there is none. Refusals may echo what was sent."""
    code: int
    """Zoom's error code; `NO_CODE` when there is none."""
    message: str
    """Zoom's words, without secrets, and the fields it names."""
    headers: Mapping[str, str]
    """By lower-case name."""
    sent_at: datetime
    elapsed_seconds: float

    @property
    def date(self) -> datetime | None:
        """Zoom's own clock, as its `Date` header tells it."""
        try:
            return parsedate_to_datetime(self.headers["date"])
        except (KeyError, ValueError):
            return None


async def exchange(
    http: httpx.AsyncClient,
    request: httpx.Request,
    *,
    clock: Clock,
    timeout_seconds: float,
    keeps_secrets: bool = False,
) -> Answer:
    """The answer to a request. `keeps_secrets` is for the token endpoint, whose answer is one, and for webhook logs.

    Raises:
        NothingSent: it never left.
        NoAnswer: it left, or may have, and no whole answer came in time.
    """
    sent_at, began = clock.now(), clock.monotonic_seconds()
    try:
        async with asyncio.timeout(timeout_seconds):
            status, headers, body = await _send(http, request)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol) as error:
        raise NothingSent(type(error).__name__) from error
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, TimeoutError) as error:
        raise NoAnswer(type(error).__name__) from error
    code, message, document = _read(body, keeps_secrets=keeps_secrets)
    return Answer(
        status=status,
        document=document if status < 300 else None,
        code=code,
        message=message,
        headers=headers,
        sent_at=sent_at,
        elapsed_seconds=clock.monotonic_seconds() - began,
    )


def timeouts(call_seconds: float) -> httpx.Timeout:
    """Time-outs of the single steps; `exchange` bounds the whole."""
    return httpx.Timeout(call_seconds, connect=min(CONNECT_SECONDS, call_seconds), pool=call_seconds)


async def _send(http: httpx.AsyncClient, request: httpx.Request) -> tuple[int, Mapping[str, str], bytes]:
    response = await http.send(request, stream=True, follow_redirects=False)
    try:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MOST_BODY_BYTES:
                body.clear()  # unreadable, like anything else that is no answer of Zoom's
                break
        headers = {name.lower(): value for name, value in response.headers.items()}
        return response.status_code, headers, bytes(body)
    finally:
        await response.aclose()


def _read(body: bytes, *, keeps_secrets: bool) -> tuple[int, str, Mapping[str, Any] | None]:
    """Code, message and JSON object of a body, whatever it is."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _read_xml(body)
    if not isinstance(document, dict):
        return NO_CODE, "", None
    code = document.get("code")
    try:
        clean = document if keeps_secrets else without_secrets(document) | _page(document)
    except BadMessage:
        return NO_CODE, "", None
    if _NUL in body and not keeps_secrets:
        clean = without_nul(clean)
    if not isinstance(code, int) or isinstance(code, bool):
        code = NO_CODE
    return code, _message(document), clean


def _page(document: Mapping[str, Any]) -> dict[str, Any]:
    """The mark of the next page, which is no secret, whatever its name."""
    return {name: value for name, value in document.items() if name == "next_page_token"}


def _read_xml(body: bytes) -> tuple[int, str, None]:
    """Old gateways of Zoom's answer errors in XML, whatever was asked for."""
    text = body[:4096].decode("utf-8", errors="replace")
    code, message = _XML_CODE.search(text), _XML_MESSAGE.search(text)
    return int(code[1]) if code else NO_CODE, _clean(message[1]) if code and message else "", None


def _message(document: Mapping[str, Any]) -> str:
    errors = document.get("errors")
    named = [each for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    words = (f"{each.get('field')}: {each.get('message')}" for each in named)
    return _clean(" ".join((str(document.get("message") or document.get("reason") or ""), *words)))


def _clean(text: str) -> str:
    """The text without credentials that it may echo."""
    plain = str(without_secrets({"text": " ".join(text.split())})["text"])
    return _BEARER.sub("[removed]", without_nul(plain))[:MESSAGE_CHARS]
