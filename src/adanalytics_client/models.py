"""What the service's answers become: open models that keep whatever they do not know.

No field is required, unknown fields stay, and a value of an unexpected type stays as it was sent
instead of raising: only the login, the parameters and the list of dates are documented by the
service, so a model that insisted on more could refuse good data.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, Strict, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from adanalytics_client._json import Json, NotJson, parse, parse_text
from adanalytics_client.encoding import digits


def _plain_digits(value: object) -> object:
    # str() of a zero with nine fraction digits is "0E-9", which no reader expects.
    return digits(value) if isinstance(value, Decimal) else value


EXACT = "exact"
"""The validation context in which a JSON number that has become a float raises `Inexact`."""


class Inexact(Exception):
    """A JSON number with a fraction was read as a float; read the text with `parse` instead."""


def _as_sent(value: Json, info: core_schema.ValidationInfo) -> Json:
    if info.context == EXACT and _holds_float(value):
        raise Inexact
    return value


def _holds_float(value: Json) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_float, value.values()))
    return isinstance(value, float) or (isinstance(value, list) and any(map(_holds_float, value)))


# Only pydantic's own JSON reader makes floats; what Python code hands over is the caller's.
_ANYTHING = core_schema.json_or_python_schema(
    json_schema=core_schema.with_info_plain_validator_function(_as_sent),
    python_schema=core_schema.any_schema(),
)


@dataclass(frozen=True, slots=True)
class _AsSent:
    """Keep the value untouched."""

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return _ANYTHING


@dataclass(frozen=True, slots=True)
class _OrAsSent:
    """Try the annotated type, else keep the value untouched; decided in pydantic's own core."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.union_schema(
            [handler(source), _ANYTHING],
            mode="left_to_right",
            serialization=core_schema.plain_serializer_function_ser_schema(
                _plain_digits, when_used="json-unless-none"
            ),
        )


@dataclass(frozen=True, slots=True)
class _NoFloat:
    """Take what the annotated type takes, but of JSON only text and whole numbers."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        amount = handler(source)
        exact = [core_schema.str_schema(strict=True), core_schema.int_schema(strict=True)]
        return core_schema.json_or_python_schema(
            json_schema=core_schema.union_schema(
                [core_schema.chain_schema([each, amount]) for each in exact], mode="left_to_right"
            ),
            python_schema=amount,
        )


Text = Annotated[Annotated[str, Strict()] | None, _OrAsSent()]
Whole = Annotated[Annotated[int, Strict()] | None, _OrAsSent()]
Flag = Annotated[Annotated[bool, Strict()] | None, _OrAsSent()]
Money = Annotated[Annotated[Decimal, _NoFloat()] | None, _OrAsSent()]
Pairs = Annotated[dict[str, str] | None, _OrAsSent()]


class OpenModel(BaseModel):
    """A record with attribute and `[]` access that keeps unknown fields.

    `model_dump()` gives back what was read. `model_dump_json()` writes every Decimal as text, as
    pydantic does; rows and files have the service's own digits and types.
    """

    model_config = ConfigDict(extra="allow", protected_namespaces=())
    if not TYPE_CHECKING:
        # Type checkers take it for a field that must be given.
        __pydantic_extra__: dict[str, Annotated[Any, _AsSent()]]

    @classmethod
    def model_validate_json(  # type: ignore[override]  # pydantic's options differ by version
        cls,
        json_data: str | bytes | bytearray,
        *,
        strict: bool | None = None,
        context: object = None,
    ) -> Self:
        """The record in a JSON text; a number with a fraction becomes Decimal by its own digits.

        Raises:
            pydantic.ValidationError: for a text that is not JSON or no object.

        Example:
            >>> Event.model_validate_json('{"revenue": 0.10}').revenue
            Decimal('0.10')
        """
        try:
            content = parse_text(json_data) if isinstance(json_data, str) else parse(json_data)
        except NotJson as error:
            told = InitErrorDetails(type="json_invalid", input=json_data, ctx={"error": str(error)})
            raise ValidationError.from_exception_data(
                cls.__name__, [told], input_type="json"
            ) from None
        return cls.model_validate(content, strict=strict, context=context)

    def __getitem__(self, name: str) -> Json:
        """A field by its name on the wire; a known field that was not sent is None.

        Raises:
            KeyError: when the field is neither known nor sent.
        """
        if name in type(self).model_fields:
            return getattr(self, name)
        return (self.model_extra or {})[name]


class Event(OpenModel):
    """One log-level event.

    Money is `Decimal` in units of `currency` for this one event; times are RFC 3339 text in UTC, as
    sent. Names of `event_type` and codes of `error_code` are those of VAST 4.2
    (https://iabtechlab.com/standards/vast/).

    Example:
        >>> event = Event.model_validate({"revenue": "0.004500000", "new": 1})
        >>> event.revenue, event["new"], event.country
        (Decimal('0.004500000'), 1, None)
    """

    event_id: Text = None
    event_time: Text = None
    event_date: Text = None
    event_hour: Whole = None
    received_at: Text = None
    event_type: Text = None
    auction_id: Text = None
    partner_id: Text = None
    supply_tag_id: Whole = None
    demand_tag_id: Whole = None
    campaign_id: Whole = None
    creative_id: Text = None
    deal_id: Text = None
    media_type: Text = None
    device_type: Text = None
    country: Text = None
    os: Text = None
    currency: Text = None
    revenue: Money = None
    cost: Money = None
    payment_type: Text = None
    domain: Text = None
    app_bundle: Text = None
    error_code: Whole = None
    is_filtered: Flag = None
    key_values: Pairs = None


class SummaryRow(OpenModel):
    """Metrics of one group, or of everything when not grouped.

    Counts are `int`. Money, per-mille prices and fractions are `Decimal`; a fraction whose
    denominator is zero is None.

    Example:
        >>> row = client.summary("2026-01-15").rows[0]
        >>> row.impressions, row.revenue, row["fill_rate"], row.date
        (76, Decimal('0.274229029'), Decimal('0.655172'), None)
    """

    date: Text = None
    campaign_id: Whole = None
    campaign_name: Text = None
    demand_tag_id: Whole = None
    demand_tag_name: Text = None
    ad_requests: Whole = None
    impressions: Whole = None
    starts: Whole = None
    first_quartiles: Whole = None
    midpoints: Whole = None
    third_quartiles: Whole = None
    completions: Whole = None
    clicks: Whole = None
    skips: Whole = None
    errors: Whole = None
    revenue: Money = None
    cost: Money = None
    profit: Money = None
    fill_rate: Money = None
    ctr: Money = None
    vcr: Money = None
    completion_rate_started: Money = None
    error_rate: Money = None
    margin: Money = None
    ecpm: Money = None
    rpm: Money = None
    cpm_cost: Money = None


class Summary(OpenModel):
    """Aggregated metrics: `rows` in the service's order, `totals` where it sends them.

    Everything else the service sends beside the rows (range, currency, time zone) is kept as sent;
    a field `rows` that is not the list is `summary["rows_"]`.

    Example:
        >>> summary = client.summary("2026-01-01", "2026-01-31", group_by="campaign")
        >>> summary.rows[0].campaign_name, summary.rows[0].ecpm, summary["currency"]
        ('Spring Sale', Decimal('1.407724'), 'USD')
    """

    rows: list[SummaryRow] = []
    totals: Annotated[SummaryRow | None, _OrAsSent()] = None
    group_by: Text = None
    start_date: Text = None
    end_date: Text = None
    currency: Text = None
    timezone: Text = None
