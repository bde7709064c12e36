"""The bodies of the API as they appear in its OpenAPI document, and the ones it reads.

Answers are written from stored bytes and never pass through these models; a test holds the
two together.
"""

from datetime import date
from typing import Literal

from pydantic import BaseModel, Field

from adanalytics_server.api.model_types import (
    Address,
    Count,
    Country,
    Currency,
    DeviceType,
    ErrorCode,
    EventType,
    Fraction,
    Hour,
    Instant,
    MediaType,
    Money,
    PaymentType,
    Rate,
    Sha256,
    TimeZone,
    Uuid,
)


class LoginUser(BaseModel):
    """The user that signed in."""

    id: str
    email: str
    role: str


class LoginAnswer(BaseModel):
    """A token for the Authorization header, good for seven days."""

    token: str
    user: LoginUser


class BulkExportAnswer(BaseModel):
    """The state of an export; ``download_url`` opens the file once it is completed."""

    export_id: Uuid
    status: Literal["pending", "processing", "completed", "failed", "expired"]
    format: str
    start_date: date
    end_date: date
    download_url: Address
    status_url: Address
    created_at: Instant
    expires_at: Instant
    row_count: Count | None
    size_bytes: Count | None
    sha256: Sha256 | None
    error: str | None


class DatesAnswer(BaseModel):
    """The days that have data, in order."""

    dates: list[date]


class EventBody(BaseModel):
    """One event-level record."""

    event_id: Uuid
    event_time: Instant
    event_date: date
    event_hour: Hour
    received_at: Instant
    event_type: EventType
    auction_id: Uuid
    partner_id: str
    supply_tag_id: int
    demand_tag_id: int | None
    campaign_id: int | None
    creative_id: str | None
    deal_id: str | None
    media_type: MediaType
    device_type: DeviceType
    country: Country | None
    os: str | None
    currency: Currency
    revenue: Money
    cost: Money | None
    payment_type: PaymentType
    domain: str | None
    app_bundle: str | None
    error_code: ErrorCode | None
    is_filtered: bool
    key_values: dict[str, str]


class Pagination(BaseModel):
    """Where a page stands in its range."""

    page: Count
    per_page: Count
    total: Count
    total_pages: Count
    has_more: bool


class EventsAnswer(BaseModel):
    """One page of events."""

    events: list[EventBody]
    pagination: Pagination


class SummaryRow(BaseModel):
    """Counts, exact money and rates of one group; only the columns of its grouping are there."""

    date: str | None = None
    campaign_id: int | None = None
    campaign_name: str | None = None
    demand_tag_id: int | None = None
    demand_tag_name: str | None = None
    ad_requests: Count
    impressions: Count
    starts: Count
    first_quartiles: Count
    midpoints: Count
    third_quartiles: Count
    completions: Count
    clicks: Count
    skips: Count
    errors: Count
    revenue: Money
    cost: Money
    profit: Money
    fill_rate: Fraction | None
    ctr: Fraction | None
    vcr: Fraction | None
    completion_rate_started: Fraction | None
    error_rate: Fraction | None
    margin: Fraction | None
    ecpm: Rate | None
    rpm: Rate | None
    cpm_cost: Rate | None


class SummaryAnswer(BaseModel):
    """The rows of a summary and their total."""

    summary: list[SummaryRow]
    totals: SummaryRow
    group_by: Literal["day", "campaign", "demand_tag"] | None
    start_date: date
    end_date: date
    currency: Currency
    timezone: TimeZone


class ErrorDetail(BaseModel):
    """What is wrong with one parameter or field."""

    field: str
    message: str


class ErrorAnswer(BaseModel):
    """The shape of every answer that is not a success."""

    error: str
    details: list[ErrorDetail] = Field(default_factory=list)
