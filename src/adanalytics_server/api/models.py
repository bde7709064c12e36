"""The bodies of the API's answers, for its OpenAPI document.

Answers are written from stored bytes and never pass through these models; tests check answers
against them.
"""

import datetime as dt
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema, create_model

from adanalytics_server.storage.events import CHOICES, FIELDS, Kind

Uuid = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Instant = Annotated[
    str, Field(pattern=r"^-?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$")
]
Money = Annotated[str, Field(pattern=r"^-?[0-9]+\.[0-9]{9}$", examples=["1234.567890123"])]
Rate = Annotated[str, Field(pattern=r"^-?[0-9]+\.[0-9]{6}$", examples=["2.500000"])]
# A number on the wire: pydantic's own description of a Decimal would be a string.
Fraction = Annotated[Decimal, WithJsonSchema({"type": "number", "examples": [0.75]})]
Count = Annotated[int, Field(ge=0)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", examples=["USD"])]
Address = Annotated[str, Field(json_schema_extra={"format": "uri"})]


class LoginUser(BaseModel):
    """The user that signed in."""

    id: str = Field(description="Number of the user, as text.", examples=["1"])
    email: str = Field(description="E-mail address.", examples=["admin@example.com"])
    role: str = Field(
        description="`admin` reads every partner, `partner` those it is linked to.",
        examples=["admin"],
    )


class LoginAnswer(BaseModel):
    """A token and whose it is."""

    token: str = Field(description="For the header `Authorization: Bearer`; good for seven days.")
    user: LoginUser = Field(description="Whose token it is.")


class BulkExportAnswer(BaseModel):
    """The state of an export."""

    export_id: Uuid = Field(description="Id of the export.")
    status: Literal["pending", "processing", "completed", "failed", "expired"] = Field(
        description="`pending` and `processing` are waited for; the others stay as they are."
    )
    format: str = Field(description="The format that was ordered.", examples=["csv"])
    start_date: dt.date = Field(description="The first day, in UTC.")
    end_date: dt.date = Field(description="The last day, in UTC; it is included.")
    download_url: Address = Field(
        description="Signed address of the file. It needs no credential and refuses one; until the"
        " file is there it answers 202."
    )
    status_url: Address = Field(description="Address that returns the current state.")
    created_at: Instant = Field(description="When it was ordered, in UTC.")
    expires_at: Instant = Field(description="Until when the file can be downloaded, in UTC.")
    row_count: Count | None = Field(description="Events in the file; null until it is completed.")
    size_bytes: Count | None = Field(description="Bytes of the file; null until it is completed.")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        description="SHA-256 of the file, in hex; null until it is completed."
    )
    error: str | None = Field(description="Why it failed; null unless it did.")


class DatesAnswer(BaseModel):
    """The days that have data."""

    dates: list[dt.date] = Field(
        description="Days in UTC with at least one event, in order.", examples=[["2026-01-15"]]
    )


# What values of a kind are, and an example. Text and numbers without a rule are not listed.
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


class Pagination(BaseModel):
    """Where a page stands in its range."""

    page: Count = Field(description="Number of this page, from 1.")
    per_page: Count = Field(description="Events on a page that is full.")
    total: Count = Field(description="Events in the whole range.")
    total_pages: Count = Field(description="Pages in the whole range; 0 when it has no events.")
    has_more: bool = Field(description="Whether another page follows.")


class EventsAnswer(BaseModel):
    """One page of events."""

    events: list[EventBody] = Field(
        description="By day and hour, and within an hour in the order of their arrival."
    )
    pagination: Pagination = Field(description="Where this page stands in the range.")


def _of_type(event_type: str) -> str:
    return f"Events of type `{event_type}`."


def _share(part: str, whole: str) -> str:
    rounded = "a fraction rounded half to even to six digits, never clamped to 1"
    return f"`{part} / {whole}`: {rounded}; null when `{whole}` is 0."


def _per_thousand(money: str, count: str) -> str:
    rounded = "units of the currency, rounded half to even to six digits"
    return f"`{money} * 1000 / {count}`: {rounded}; null when `{count}` is 0."


class SummaryRow(BaseModel):
    """Counts, exact money and rates of one group, over its events with `is_filtered` false.

    Only the columns of its grouping are there. Ids are null for events without one.
    """

    date: dt.date | None = Field(None, description="The day, in UTC; when grouped by `day`.")
    campaign_id: int | None = Field(
        None, description="Id of the campaign; when grouped by `campaign`."
    )
    campaign_name: str | None = Field(None, description="Name of the campaign; null if unknown.")
    demand_tag_id: int | None = Field(
        None, description="Id of the demand tag; when grouped by `demand_tag`."
    )
    demand_tag_name: str | None = Field(
        None, description="Name of the demand tag; null if unknown."
    )
    ad_requests: Count = Field(description=_of_type("ad_request"))
    impressions: Count = Field(description=_of_type("impression"))
    starts: Count = Field(description=_of_type("start"))
    first_quartiles: Count = Field(description=_of_type("first_quartile"))
    midpoints: Count = Field(description=_of_type("midpoint"))
    third_quartiles: Count = Field(description=_of_type("third_quartile"))
    completions: Count = Field(description=_of_type("complete"))
    clicks: Count = Field(description=_of_type("click"))
    skips: Count = Field(description=_of_type("skip"))
    errors: Count = Field(description=_of_type("error"))
    revenue: Money = Field(description="Sum of `revenue`: exact, in units of the currency.")
    cost: Money = Field(
        description="Sum of `cost`: exact, in units of the currency; a null cost counts as 0."
    )
    profit: Money = Field(description="`revenue - cost`: exact, in units of the currency.")
    fill_rate: Fraction | None = Field(description=_share("impressions", "ad_requests"))
    ctr: Fraction | None = Field(
        description=f"Click-through rate, {_share('clicks', 'impressions')}"
    )
    vcr: Fraction | None = Field(
        description=f"Video completion rate, {_share('completions', 'impressions')}"
    )
    completion_rate_started: Fraction | None = Field(description=_share("completions", "starts"))
    error_rate: Fraction | None = Field(description=_share("errors", "ad_requests"))
    margin: Fraction | None = Field(description=_share("profit", "revenue"))
    ecpm: Rate | None = Field(description=_per_thousand("revenue", "impressions"))
    rpm: Rate | None = Field(description=_per_thousand("revenue", "ad_requests"))
    cpm_cost: Rate | None = Field(description=_per_thousand("cost", "impressions"))


class SummaryAnswer(BaseModel):
    """The rows of a summary and their total."""

    summary: list[SummaryRow] = Field(
        description="One row for each group, ordered by it, null last; the total when ungrouped."
    )
    totals: SummaryRow = Field(description="The same columns over the whole range.")
    group_by: Literal["day", "campaign", "demand_tag"] | None = Field(
        description="The grouping that was asked for."
    )
    start_date: dt.date = Field(description="The first day, in UTC.")
    end_date: dt.date = Field(description="The last day, in UTC; it is included.")
    currency: Currency = Field(description="Currency of all money, ISO 4217.")
    # Not a Literal, which different versions of pydantic describe in different words.
    timezone: str = Field(
        description="The time zone of all days and hours.", json_schema_extra={"const": "UTC"}
    )


class ErrorDetail(BaseModel):
    """What is wrong with one parameter or field."""

    field: str = Field(description="The parameter or field.", examples=["per_page"])
    message: str = Field(
        description="What is wrong with it, as a phrase that follows its name.",
        examples=["should be less than or equal to 10000"],
    )


class ErrorAnswer(BaseModel):
    """The shape of every answer that is not a success."""

    error: str = Field(description="What went wrong.", examples=["Bad Request"])
    details: list[ErrorDetail] = Field(
        default_factory=list, description="What is wrong with each parameter or field."
    )
