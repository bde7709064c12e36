"""The bodies of the API's responses, for its OpenAPI document.

Responses are written from stored bytes and never pass through these models; tests check them
against the models.
"""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema, create_model

from adanalytics_server.storage.dimensions import DIMENSIONS, GROUP_COLUMNS, Grouping
from adanalytics_server.storage.events import CHOICES, COUNTER_OF, FIELDS, Kind

from .summaries import FRACTIONS, PRICES

Uuid = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Instant = Annotated[
    str, Field(pattern=r"^-?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$")
]
Money = Annotated[str, Field(pattern=r"^-?[0-9]+\.[0-9]{9}$", examples=["1234.567890123"])]
Rate = Annotated[str, Field(pattern=r"^-?[0-9]+\.[0-9]{6}$", examples=["2.500000"])]
# A number on the wire; pydantic would describe a Decimal as a string.
Fraction = Annotated[Decimal, WithJsonSchema({"type": "number", "examples": [0.75]})]
Count = Annotated[int, Field(ge=0)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", examples=["USD"])]
Address = Annotated[str, Field(json_schema_extra={"format": "uri"})]


class LoginUser(BaseModel):
    """The user that signed in."""

    id: str = Field(description="Number of the user, as text.", examples=["1"])
    email: str = Field(description="E-mail address.", examples=["admin@example.com"])
    role: str = Field(
        description="`admin` reads every partner, `analyst` and `viewer` the linked ones.",
        examples=["admin"],
    )


class LoginAnswer(BaseModel):
    """A token and its user."""

    token: str = Field(description="For the `Authorization: Bearer` header; valid for seven days.")
    user: LoginUser = Field(description="The user that the token belongs to.")


class BulkExportAnswer(BaseModel):
    """The state of an export."""

    export_id: Uuid = Field(description="Id of the export.")
    status: Literal["pending", "processing", "completed", "failed", "expired"] = Field(
        description="Wait while it is `pending` or `processing`."
    )
    format: str = Field(description="The format of the file.", examples=["csv"])
    start_date: dt.date = Field(description="The first day, in UTC.")
    end_date: dt.date = Field(description="The last day, in UTC, included.")
    download_url: Address = Field(
        description="Signed URL of the file. It needs no credential and refuses one. It answers 202"
        " until the file is ready."
    )
    status_url: Address = Field(description="URL of the current state.")
    created_at: Instant = Field(description="When the export was requested, in UTC.")
    expires_at: Instant = Field(description="When the download URL expires, in UTC.")
    row_count: Count | None = Field(description="Events in the file; null until completed.")
    size_bytes: Count | None = Field(description="Size of the file in bytes; null until completed.")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        description="SHA-256 of the file, in hex; null until completed."
    )
    error: str | None = Field(description="Why the export failed; null unless it did.")


class DatesAnswer(BaseModel):
    """The days that have data."""

    dates: list[dt.date] = Field(
        description="Days in UTC with at least one event, in order.", examples=[["2026-01-15"]]
    )


# The type of each kind, and an example.
_KINDS: dict[Kind, tuple[Any, object]] = {
    Kind.UUID: (Uuid, "6f9619ff-8b86-d011-b42d-00cf4fc964ff"),
    Kind.INSTANT: (Instant, "2026-01-15T13:05:09.250Z"),
    Kind.DATE: (dt.date, "2026-01-15"),
    Kind.HOUR: (Annotated[int, Field(ge=0, le=23)], 13),
    Kind.NAME: (str, "acme"),
    Kind.TEXT: (str, "news.example"),
    Kind.LOWER_CASE: (str, "ios"),
    Kind.INTEGER: (int, 1042),
    Kind.COUNTRY: (Annotated[str, Field(pattern=r"^[A-Z]{2}$")], "DE"),
    Kind.CURRENCY: (Currency, "USD"),
    Kind.MONEY: (Money, "0.002500000"),
    Kind.ERROR_CODE: (Annotated[int, Field(ge=100, le=901)], 303),
    Kind.BOOLEAN: (bool, False),
    Kind.STRINGS: (dict[str, str], {"section": "sports"}),
    **{
        kind: (Annotated[str, Field(json_schema_extra={"enum": list(words)})], words[0])
        for kind, words in CHOICES.items()
    },
}


def _event_field(name: str) -> tuple[Any, Any]:
    _, kind, nullable, description = FIELDS[name]
    annotation, example = _KINDS[kind]
    field = Field(description=description, examples=None if kind in CHOICES else [example])
    return annotation | None if nullable else annotation, field


_EVENT_FIELDS: dict[str, Any] = {name: _event_field(name) for name in FIELDS}
EventBody: Any = create_model("EventBody", __doc__="One event-level record.", **_EVENT_FIELDS)


class PageMeta(BaseModel):
    """The position of a page in its list."""

    total: Count = Field(description="Rows on all pages together.")
    page: Count = Field(description="Number of this page, from 1.")
    per_page: Count = Field(description="Rows on a full page.")


class EventsAnswer(BaseModel):
    """One page of events."""

    data: list[EventBody] = Field(description="Ordered by day and hour, within an hour by arrival.")
    meta: PageMeta = Field(description="The position of this page in the range.")


def _row_fields() -> Iterator[tuple[str, Any, str]]:
    """Yield the name, the type and the description of each column of a summary."""
    yield "date", dt.date | None, "The day, in UTC. Only when grouped by `day`."
    for dimension in DIMENSIONS:
        noun, by = dimension.noun, dimension.name
        yield dimension.id_field, int | None, f"Id of the {noun}. Only when grouped by `{by}`."
        yield dimension.name_field, str | None, f"Name of the {noun}; null if unknown."
    for event_type, counter in COUNTER_OF.items():
        yield counter, Count, f"Events of type `{event_type}`."
    exact = "exact, in units of the currency"
    yield "revenue", Money, f"Sum of `revenue`: {exact}."
    yield "cost", Money, f"Sum of `cost`: {exact}; a null cost counts as 0."
    yield "profit", Money, f"`revenue - cost`: {exact}."
    for name, (part, whole) in FRACTIONS.items():
        rule = "a fraction rounded half to even to six digits, never clamped to 1"
        text = f"`{part} / {whole}`: {rule}; null when `{whole}` is 0."
        yield name, Fraction | None, f"{_RATE_NAMES.get(name, '')}{text}"
    for name, (part, unit) in PRICES.items():
        rule = "units of the currency, rounded half to even to six digits"
        text = f"`{part} * 1000 / {unit}`: {rule}; null when `{unit}` is 0."
        yield name, Rate | None, text


_RATE_NAMES = {"ctr": "Click-through rate, ", "vcr": "Video completion rate, "}
_ROW_FIELDS: dict[str, Any] = {
    name: (kind, Field(None if name in GROUP_COLUMNS else ..., description=text))
    for name, kind, text in _row_fields()
}
SummaryRow: Any = create_model(
    "SummaryRow",
    __doc__="""Counts, exact sums of money and rates of one group; filtered events are left out.

A row has only the key columns of its own grouping. An id is null in the row for events that
have no such id.""",
    **_ROW_FIELDS,
)


class SummaryMeta(PageMeta):
    """What a summary is of, and its total; all rows are on one page."""

    group_by: Grouping | None = Field(description="The requested grouping.")
    start_date: dt.date = Field(description="The first day, in UTC.")
    end_date: dt.date = Field(description="The last day, in UTC, included.")
    currency: Currency = Field(description="Currency of all money, ISO 4217.")
    # Not a Literal: versions of pydantic describe it differently.
    timezone: str = Field(
        description="The time zone of all days and hours.", json_schema_extra={"const": "UTC"}
    )
    totals: SummaryRow = Field(description="The columns of a row over the whole range.")


class SummaryAnswer(BaseModel):
    """The rows of a summary."""

    data: list[SummaryRow] = Field(
        description="One row per group, ordered by its key, null last; the total if not grouped."
    )
    meta: SummaryMeta = Field(description="What the summary is of, and its total.")


class ErrorAnswer(BaseModel):
    """The body of every error."""

    error: str = Field(
        description="What went wrong; each wrong parameter or field is named.",
        examples=["per_page should be less than or equal to 10000"],
    )
