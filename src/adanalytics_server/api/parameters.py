"""Strict query parameters: what is not exactly right is a 400 that names it."""

import re
from collections import Counter
from datetime import date
from typing import Annotated

from fastapi import params
from pydantic import BeforeValidator, Field
from starlette.requests import Request

from adanalytics_server.answers import MOST_PER_PAGE
from adanalytics_server.context import context_of
from adanalytics_server.errors import ApiError, Detail, bad_parameter
from adanalytics_server.storage.days import DayRange, parse_date

# A zero has no sign.
_INTEGER = re.compile(r"(?!-0+$)-?[0-9]{1,40}")
LARGEST_INTEGER = 2**63 - 1


def _strict_integer(value: object) -> object:
    if isinstance(value, str):
        if not _INTEGER.fullmatch(value):
            raise ValueError("must be a whole number")
        return int(value)
    return value


def strict_date(value: object) -> date:
    """Validate a date of a query or a body: a ``YYYY-MM-DD`` string, nothing else."""
    if not isinstance(value, str):
        raise ValueError("must be a string in the form YYYY-MM-DD")  # noqa: TRY004  # pydantic reports ValueError
    return parse_date(value)


StrictDate = Annotated[date, BeforeValidator(strict_date)]
# The bounds come first: a validator in front of them would hide them from the OpenAPI document.
Hour = Annotated[Annotated[int, Field(ge=0, le=23)] | None, BeforeValidator(_strict_integer)]
PageNumber = Annotated[int, Field(ge=1, le=LARGEST_INTEGER), BeforeValidator(_strict_integer)]
# The maximum is documented here and kept by the endpoint, where a dialect may cut instead.
PerPage = Annotated[
    int,
    Field(ge=1, le=LARGEST_INTEGER, json_schema_extra={"maximum": MOST_PER_PAGE}),
    BeforeValidator(_strict_integer),
]


def day_range(start: date, end: date, hour: int | None = None) -> DayRange:
    """Join two dates into a range, or raise the 400 for a reversed one."""
    if end < start:
        raise bad_parameter("end_date", f"must not be before start_date ({start})")
    return DayRange(start, end, hour)


def only(*names: str) -> params.Depends:
    """Return a dependency that refuses repeated query parameters, and unknown ones."""

    # A coroutine that never waits: a plain function would be sent to a thread and back.
    async def check(request: Request) -> None:
        details = [
            Detail(name, "must not be repeated")
            for name, count in Counter(
                name for name, _ in request.query_params.multi_items()
            ).items()
            if count > 1
        ]
        if not context_of(request).settings.loose:
            details += [
                Detail(name, f"is not a parameter; there is: {', '.join(names) or 'none'}")
                for name in request.query_params
                if name not in names
            ]
        if details:
            raise ApiError(400, "Bad Request", details=details)

    return params.Depends(check)
