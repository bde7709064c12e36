"""Query parameters and JSON bodies: models that describe them and refuse everything else.

A request that does not fit gets a 400 that names each wrong parameter or field.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Depends
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from adanalytics_server.context import context_of
from adanalytics_server.dialect import MOST_PER_PAGE, USUAL_PER_PAGE, dialect_for
from adanalytics_server.errors import ApiError, Detail, bad_parameter, bad_request, error_response
from adanalytics_server.exports.files import FormatName
from adanalytics_server.storage.days import DayRange, parse_date
from adanalytics_server.storage.dimensions import Grouping

LARGEST_INTEGER = 2**63 - 1
MOST_BYTES = 1 << 20
MOST_DISCARDED_BYTES = 64 << 20
# A zero has no sign.
_INTEGER = re.compile(r"(?!-0+$)-?[0-9]{1,40}")
Model = TypeVar("Model", bound=BaseModel)


def _strict_integer(value: object) -> object:
    if isinstance(value, str):
        if not _INTEGER.fullmatch(value):
            raise ValueError("must be a whole number")
        return int(value)
    return value


def _strict_date(value: object) -> date:
    if not isinstance(value, str):
        raise ValueError("must be a string in the form YYYY-MM-DD")  # noqa: TRY004  # pydantic reports ValueError
    return parse_date(value)


StrictDate = Annotated[date, BeforeValidator(_strict_date)]
# The bounds come first: a validator in front of them would hide them from the OpenAPI document.
Hour = Annotated[Annotated[int, Field(ge=0, le=23)] | None, BeforeValidator(_strict_integer)]
PageNumber = Annotated[int, Field(le=LARGEST_INTEGER), BeforeValidator(_strict_integer)]
PositiveInteger = Annotated[int, Field(ge=1, le=LARGEST_INTEGER), BeforeValidator(_strict_integer)]


class NoParameters(BaseModel):
    """The query of an operation without parameters."""

    model_config = ConfigDict(extra="forbid")


class RangeQuery(NoParameters):
    """Days, both ends included."""

    start_date: StrictDate = Field(description="The first day, in UTC.", examples=["2026-01-15"])
    end_date: StrictDate = Field(
        description="The last day, in UTC, included. Not before `start_date`.",
        examples=["2026-01-15"],
    )

    @field_validator("end_date")
    @classmethod
    def _in_order(cls, end: date, info: ValidationInfo) -> date:
        start = info.data.get("start_date")
        if start is not None and end < start:
            raise ValueError(f"must not be before start_date ({start})")
        return end

    def days(self, hour: int | None = None) -> DayRange:
        """Return the range, or one hour of each of its days."""
        return DayRange(self.start_date, self.end_date, hour)


class EventsQuery(RangeQuery):
    """One page of the events of a range."""

    hour: Hour = Field(
        None, description="Only this hour of each day, in UTC. Default: all hours.", examples=[13]
    )
    # The endpoint enforces the first page and the most per page, which differ between dialects.
    page: PageNumber = Field(
        1, description="Number of the page, from 1.", examples=[1], json_schema_extra={"minimum": 1}
    )
    per_page: PositiveInteger = Field(
        USUAL_PER_PAGE,
        description="Events on a full page. More than 10,000 is a 400, never a cut.",
        examples=[1000],
        json_schema_extra={"maximum": MOST_PER_PAGE},
    )


class SummaryQuery(RangeQuery):
    """The summary of a range."""

    group_by: Grouping | None = Field(
        None, description="One row per group. Default: a single total row.", examples=["day"]
    )


class DownloadQuery(NoParameters):
    """The signature of a download URL; use the URL unchanged."""

    expires: str = Field(
        "",
        description="When the URL expires, in seconds since 1970; a 403 afterwards.",
        examples=["1769990400"],
    )
    signature: str = Field(
        "",
        description="Proof that this server made the URL; a 403 otherwise.",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    )


class LoginRequest(BaseModel):
    """E-mail and password of a user."""

    model_config = ConfigDict(extra="forbid", strict=True)

    email: str = Field(
        min_length=1,
        max_length=320,
        description="E-mail address of the user, case-insensitive.",
        examples=["admin@example.com"],
    )
    password: str = Field(
        min_length=1,
        max_length=1024,
        description="Password of the user. Five wrong ones lock the account for 15 minutes.",
        examples=["correct-horse-battery"],
    )


class BulkExportRequest(RangeQuery):
    """The range of days to export, in UTC, and the format of the file."""

    format: FormatName = Field(description="`parquet` is a 400 unless the server has pyarrow.")
    compression: Literal["none", "gzip"] = Field(
        "none",
        description="`gzip` compresses a csv or jsonl file, and the pages inside a parquet file.",
    )


def query_of(model: type[Model]) -> Any:  # noqa: ANN401  # as FastAPI's Depends
    """Return the dependency that reads the parameters of a model, and refuses all others.

    FastAPI would take the last of a repeated parameter. A loose server leaves out unknown ones.
    """

    # A coroutine that never waits: FastAPI would run a plain function in a thread.
    async def read(request: Request) -> Model:
        pairs = request.query_params.multi_items()
        if repeated := _repeated(pairs):
            raise bad_request([Detail(name, "must not be repeated") for name in repeated])
        names = model.model_fields
        # In a dialect with pages of summaries and dates, their numbers are unknown parameters.
        is_loose = context_of(request).settings.loose or dialect_for(request).rows_of_lists
        values = {name: text for name, text in pairs if name in names or not is_loose}
        try:
            return model.model_validate(values)
        except ValidationError as error:
            known = ", ".join(names) or "none"
            raise bad_fields(error, f"is not a parameter (known: {known})") from error

    return Depends(read)


def _repeated(pairs: Sequence[tuple[str, object]]) -> list[str]:
    return [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]


async def answer_api_error(request: Request, error: Any) -> Response:  # noqa: ANN401  # an ApiError
    return error_response(error, has_details=dialect_for(request).has_details)


def _detail(place: Sequence[object], problem: Mapping[str, Any], *, name_problem: str) -> Detail:
    """Say what is wrong as a phrase that follows the field's name, without the value."""
    field = ".".join(map(str, place)) if place else "body"
    if problem["type"].startswith("missing"):
        return Detail(field, "is required")
    # The value is left out everywhere: it may be a secret in the wrong place.
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return Detail(field, name_problem)
    text = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return Detail(field, text[:1].lower() + text[1:])


async def read_body(request: Request, model: type[Model], *, limit: int = MOST_BYTES) -> Model:
    """Read and validate a request's body.

    Raises:
        ApiError: 415 for another content type or a compressed body, 413 above 1 MiB, 400 for
            malformed JSON, or fields that do not fit or are repeated.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise ApiError(415)
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise ApiError(415, headers={"Accept-Encoding": "identity"})
    body = await read_bytes(request, limit=limit)
    try:
        content = model.model_validate_json(body)
    except ValidationError as error:
        raise bad_fields(error, "is not a field of this request") from error
    # JSON parsers disagree about a name that comes twice, so nobody may rely on either.
    _refuse_repeated_names(body)
    return content


def bad_fields(error: ValidationError, name_problem: str) -> ApiError:
    """Return the error of values that do not fit; ``name_problem`` is that of an unknown name."""
    details = [
        _detail(problem["loc"], problem, name_problem=name_problem)
        for problem in error.errors(include_url=False, include_input=False)
    ]
    return bad_request(details)


def _refuse_repeated_names(body: bytes) -> None:
    """Refuse a repeated name: RFC 8259, section 4, leaves open which value counts."""

    def check(pairs: list[tuple[str, object]]) -> None:
        for name in _repeated(pairs):
            raise bad_parameter(name, "must not be repeated")

    json.loads(body, object_pairs_hook=check)


async def read_bytes(request: Request, *, limit: int = MOST_BYTES) -> bytes:
    """Read a body of at most ``limit`` bytes, or raise ``ApiError`` 413.

    A longer one is read and discarded, up to ``MOST_DISCARDED_BYTES``: closing a connection
    with unread bytes resets it, and the sender would not see the response.
    """
    too_long = ApiError(413, "Content Too Large", headers={"Connection": "close"})
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > limit and "expect" in request.headers:
        # RFC 9110, section 10.1.1: the sender waits for permission to send the body.
        raise too_long
    body, size = bytearray(), 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > MOST_DISCARDED_BYTES:
                raise too_long
            if size <= limit:
                body += chunk
    except ClientDisconnect as error:
        raise ApiError(400) from error
    if size > limit:
        raise too_long
    return bytes(body)
