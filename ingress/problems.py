"""What goes wrong in a request, as RFC 9457 problems: one catalogue of kinds, and the field and the cure with each.

Every answer of 400 and above from `/v1` is `application/problem+json`, also those that the framework would give itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "/problems/"

Place = Literal["body", "header", "query", "path"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of problem; its page is `/problems/{code}`."""

    code: str
    status: int
    title: str
    cure: str
    header: str | None = None
    """The header at fault, where it is always the same."""


KINDS: Mapping[str, Kind] = {
    kind.code: kind
    for kind in (
        Kind(
            code="unauthenticated",
            status=401,
            title="No valid API key",
            cure="Send a key that `roomkeeper keys list` shows as not revoked, as the bearer token of Authorization.",
        ),
        Kind(
            code="not_found",
            status=404,
            title="There is nothing here for this key",
            cure="Check the path and the id; what belongs to another account is not found either.",
        ),
        Kind(code="method_not_allowed", status=405, title="This path does not take this method", cure="See `Allow`."),
        Kind(
            code="too_large",
            status=413,
            title="The body is too large",
            cure="Send less; the limit is ROOMKEEPER_INGRESS__MAX_REQUEST_BYTES.",
        ),
        Kind(
            code="unsupported_media_type",
            status=415,
            title="The body is not JSON",
            cure="Send JSON with `Content-Type: application/json`.",
        ),
        Kind(
            code="malformed_body",
            status=400,
            title="The body is no JSON document",
            cure="Send one JSON object in UTF-8.",
        ),
        Kind(
            code="invalid_request",
            status=422,
            title="The request does not hold",
            cure="Correct the fields named in `errors`.",
        ),
        Kind(
            code="invalid_parameter",
            status=400,
            title="A header or parameter does not hold",
            cure="Correct what is named in `errors`.",
        ),
        Kind(
            code="idempotency_key_missing",
            status=400,
            title="A create needs an idempotency key",
            header="Idempotency-Key",
            cure="Send `Idempotency-Key: <1 to 255 visible ASCII characters>`, and the same one when you try again.",
        ),
        Kind(
            code="idempotency_key_reused",
            status=422,
            title="This idempotency key was used for another request",
            header="Idempotency-Key",
            cure="Use a new key for other content; repeat the same content under the same key.",
        ),
        Kind(
            code="version_conflict",
            status=412,
            title="The meeting has moved on",
            header="If-Match",
            cure="Read the meeting, look at what changed, and try again with its new `ETag` in `If-Match`.",
        ),
        Kind(
            code="meeting_cancelled",
            status=409,
            title="The meeting is cancelled",
            cure="Create another meeting; a cancelled one stays cancelled.",
        ),
        Kind(
            code="rejected",
            status=409,
            title="The command was refused",
            cure="Read `detail`; repeating the same command gets the same answer.",
        ),
        Kind(
            code="unavailable",
            status=503,
            title="Roomkeeper cannot take this now",
            cure="Try again after `Retry-After` seconds, with the same Idempotency-Key: nothing is done twice.",
        ),
        Kind(
            code="internal",
            status=500,
            title="Something in Roomkeeper is broken",
            cure="Try again with the same Idempotency-Key; the operator finds the cause in the log under this time.",
        ),
    )
}


class FieldProblem(BaseModel):
    """One field at fault."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    place: Place = Field(serialization_alias="in", description="Where the field stands.")
    field: str = Field(description="Its name; dots lead into objects.", examples=["recurrence.type"])
    message: str = Field(description="What is wrong with it, and so what would be right.")


class ProblemBody(BaseModel):
    """An RFC 9457 problem."""

    type: str = Field(description="Kind of problem; a page of this server.", examples=["/problems/invalid_request"])
    title: str
    status: int
    code: str = Field(description="The kind as one word, for programs.")
    detail: str | None = Field(None, description="What is the matter this time.")
    cure: str = Field(description="What to do about it.")
    errors: list[FieldProblem] = Field(default_factory=list, description="The fields at fault.")


class Problem(Exception):
    """Raised to answer a request with a problem."""

    def __init__(
        self,
        code: str,
        detail: str | None = None,
        *,
        errors: Iterable[FieldProblem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`code` is one of `KINDS`."""
        super().__init__(detail or code)
        self.kind = KINDS[code]
        self.detail = detail
        self.errors = tuple(errors)
        if not self.errors and self.kind.header is not None:
            self.errors = (FieldProblem(place="header", field=self.kind.header, message=detail or self.kind.title),)
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        """The JSON text."""
        content = ProblemBody(
            type=TYPE_PREFIX + self.kind.code,
            title=self.kind.title,
            status=self.kind.status,
            code=self.kind.code,
            detail=self.detail,
            cure=self.kind.cure,
            errors=list(self.errors),
        )
        return content.model_dump_json(by_alias=True, exclude_none=True).encode()


def header_problem(name: str, message: str) -> Problem:
    """A header that does not hold."""
    return Problem("invalid_parameter", errors=[FieldProblem(place="header", field=name, message=message)])


def query_problem(name: str, message: str) -> Problem:
    """A query parameter that does not hold."""
    return Problem("invalid_parameter", errors=[FieldProblem(place="query", field=name, message=message)])


def body_problem(field: str, message: str) -> Problem:
    """A field of the body that does not hold."""
    return Problem("invalid_request", errors=[FieldProblem(place="body", field=field, message=message)])


def not_found(what: str) -> Problem:
    """Nothing there, or not for this key."""
    return Problem("not_found", f"There is no such {what}.")


def unavailable(detail: str, *, retry_after_seconds: float | None = None) -> Problem:
    """Something that Roomkeeper depends on does not answer."""
    return Problem("unavailable", detail, headers={"retry-after": str(max(1, round(retry_after_seconds or 5)))})
