"""The models of the service's responses; they keep unknown fields.

No field is required, unknown fields stay, and a value of an unexpected type stays as it was sent
instead of raising an error: the service documents only the login, the parameters and the list of
dates, so a stricter model could refuse good data.

A class's docstring is the one place that describes its fields; its JSON schema reads it there.
"""

import re
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from html import escape
from inspect import Parameter, Signature, cleandoc
from itertools import islice
from reprlib import Repr
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from adanalytics_client._base.quantities import counted
from adanalytics_client._json.encoding import digits
from adanalytics_client._json.exact import Json, NotJson, parse, parse_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


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


def _plain_digits(value: Json) -> Json:
    """Return the value with Decimals as text; str() of a zero may be "0E-9"."""
    if isinstance(value, Decimal):
        return digits(value)
    if isinstance(value, dict):
        return {name: _plain_digits(each) for name, each in value.items()}
    return [_plain_digits(each) for each in value] if isinstance(value, list) else value


_IN_JSON = core_schema.plain_serializer_function_ser_schema(
    _plain_digits, when_used="json-unless-none"
)
# Only pydantic's own JSON reader makes floats; values from Python code are the caller's choice.
_ANYTHING = core_schema.json_or_python_schema(
    json_schema=core_schema.with_info_plain_validator_function(_as_sent),
    python_schema=core_schema.any_schema(),
    serialization=_IN_JSON,
)


class _AsSent:
    """Keep the value untouched."""

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return _ANYTHING

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {}


class _OrAsSent:
    """Take a value of one type, by default the annotated one, and keep any other untouched."""

    def __init__(self, typed: CoreSchema | None = None) -> None:
        self._typed = typed and core_schema.nullable_schema(typed)

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.union_schema(
            [self._typed or handler(source), _ANYTHING],
            mode="left_to_right",
            serialization=_IN_JSON,
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.UnionSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        found = handler(cast("CoreSchema", schema["choices"][0]))
        return {"anyOf": [*found.get("anyOf", [found]), {}]}


_TEXT = core_schema.str_schema(strict=True)
_WHOLE = core_schema.int_schema(strict=True)
_AMOUNT = core_schema.decimal_schema()
# An amount in JSON is text or a whole number; a fraction is already a float by then.
_MONEY = core_schema.json_or_python_schema(
    json_schema=core_schema.union_schema(
        [core_schema.chain_schema([each, _AMOUNT]) for each in (_TEXT, _WHOLE)],
        mode="left_to_right",
    ),
    python_schema=_AMOUNT,
)
# Other forms of a date stay text: converted to a date and back, the text would differ.
_DAY_TEXT = core_schema.chain_schema(
    [
        core_schema.str_schema(strict=True, pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
        core_schema.date_schema(),
    ]
)
_DAY = core_schema.json_or_python_schema(
    json_schema=_DAY_TEXT,
    python_schema=core_schema.union_schema(
        [_DAY_TEXT, core_schema.date_schema(strict=True)], mode="left_to_right"
    ),
)

Text = Annotated[str | None, _OrAsSent(_TEXT)]
Whole = Annotated[int | None, _OrAsSent(_WHOLE)]
Flag = Annotated[bool | None, _OrAsSent(core_schema.bool_schema(strict=True))]
Money = Annotated[Decimal | None, _OrAsSent(_MONEY)]
DateField = Annotated[date | None, _OrAsSent(_DAY)]
TextMap = Annotated[dict[str, str] | None, _OrAsSent()]

_OF_EVERY_MODEL = frozenset(dir(BaseModel))
_ANY_FIELDS = Signature([Parameter("fields", Parameter.VAR_KEYWORD, annotation=Any)])
_FIELD = re.compile(r"^    (\w+) \([^)]+\): (.+(?:\n {8}.+)*)", re.MULTILINE)
_WIDEST_REPR = 160
_MOST_ROWS, _MOST_COLUMNS = 20, 8


class _ShortHelp(ModelMetaclass):
    """Hides the attributes of all pydantic models in `help(Event)`, where they take 400 lines."""

    def __dir__(cls) -> list[str]:  # noqa: N805  # a class of classes
        own = {name for name in super().__dir__() if not name.startswith("__")} - _OF_EVERY_MODEL
        return [*own, "__getitem__"]


class _ShortRepr(Repr):
    """Values on one line: no long text, a Decimal by its digits."""

    def repr_Decimal(self, value: Decimal, _level: int) -> str:  # noqa: N802  # named by reprlib
        return digits(value)

    def repr_date(self, value: date, _level: int) -> str:
        return repr(value.isoformat())


_SHORT = _ShortRepr()
_SHORT.maxstring = 40


class _Verbatim(str):
    """A string whose repr has no quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class OpenModel(BaseModel, metaclass=_ShortHelp):
    """A record with attribute and `[]` access that keeps unknown fields.

    It is a pydantic model: `model_validate`, `model_dump` and `model_json_schema` work as usual.
    `model_dump()` gives back what was read. `model_dump_json()` writes every Decimal as text, as
    pydantic does; rows and files have the service's own digits and types.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", protected_namespaces=())
    _first: ClassVar[tuple[str, ...]] = ()
    if not TYPE_CHECKING:
        # Type checkers would take it for a required field.
        __pydantic_extra__: dict[str, Annotated[Any, _AsSent()]]

    @classmethod
    def __pydantic_init_subclass__(cls, **_options: object) -> None:
        # The annotations of all fields would fill a screen of help().
        cls.__signature__ = _ANY_FIELDS

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the schema with the descriptions from the docstrings."""
        made = handler(schema)
        own = handler.resolve_ref_schema(made)
        if "description" in own:
            own["description"] = own["description"].partition("\n\nAttributes:\n")[0]
        for kind in cls.__mro__:
            for name, text in _FIELD.findall(cleandoc(kind.__doc__ or "")):
                own["properties"][name].setdefault("description", " ".join(text.split()))
        return made

    @classmethod
    def model_validate_json(  # type: ignore[override]  # pydantic's options differ by version
        cls,
        json_data: str | bytes | bytearray,
        *,
        strict: bool | None = None,
        context: object = None,
    ) -> Self:
        """Return the record from a JSON text; a number with a fraction becomes an exact Decimal.

        Raises:
            pydantic.ValidationError: for a text that is not JSON, or not an object.

        Examples:
            >>> Event.model_validate_json('{"revenue": 0.10}').revenue
            Decimal('0.10')
        """
        try:
            content = parse_text(json_data) if isinstance(json_data, str) else parse(json_data)
        except NotJson as error:
            problem = InitErrorDetails(
                type="json_invalid", input=json_data, ctx={"error": str(error)}
            )
            raise ValidationError.from_exception_data(
                cls.__name__, [problem], input_type="json"
            ) from None
        return cls.model_validate(content, strict=strict, context=context)

    def __getitem__(self, name: str) -> Json:
        """Return a field by its name on the wire; a known field that was not sent is None.

        Raises:
            KeyError: when the field is neither known nor sent.
        """
        if name in type(self).model_fields:
            return getattr(self, name)
        return (self.model_extra or {})[name]

    def _known(self) -> "Iterator[tuple[str, Json]]":
        """Return the fields that are not None, the most useful ones first."""
        fields = dict(self)
        names = dict.fromkeys((*self._first, *fields))
        return ((name, fields[name]) for name in names if fields[name] is not None)

    def __repr_args__(self) -> "Iterator[tuple[str | None, object]]":
        """Yield the fields that fit on two lines; repr(), str() and rich print them."""
        remaining = _WIDEST_REPR
        for name, value in self._known():
            text = _SHORT.repr(value)
            remaining -= len(name) + len(text) + len("=, ")
            if remaining < 0:
                yield None, _Verbatim("...")
                return
            yield name, _Verbatim(text)

    def __str__(self) -> str:
        return repr(self)


class Event(OpenModel):
    """One log-level event.

    Names of `event_type` and codes of `error_code` are those of VAST 4.2
    (https://iabtechlab.com/standards/vast/). A field is None when it was not sent.

    Attributes:
        event_id (str): UUID, unique for the partner; the key to deduplicate by.
        event_time (str): when it happened, as sent: RFC 3339 in UTC. `time` is the datetime.
        event_date (date): the UTC day of `event_time`.
        event_hour (int): the UTC hour of `event_time`, 0 to 23.
        received_at (str): when the service got it, as sent; later than `event_time` for late data.
        event_type (str): ad_request, impression, start, first_quartile, midpoint, third_quartile,
            complete, click, skip or error.
        auction_id (str): UUID that joins the events of one auction.
        partner_id (str): the partner of the request.
        supply_tag_id (int): id of the placement that the ad was shown on.
        demand_tag_id (int): id of the tag that the ad was bought through.
        campaign_id (int): id of the campaign.
        creative_id (str): id of the ad itself.
        deal_id (str): id of the deal that the ad was bought by.
        media_type (str): video, display, audio or native.
        device_type (str): desktop, mobile, tablet, ctv, set_top_box, other or unknown.
        country (str): the country, an ISO 3166-1 alpha-2 code.
        os (str): the operating system, in lower case.
        currency (str): ISO 4217 code, the same for all events of a partner.
        revenue (Decimal): money for this one event, in units of `currency`; may be negative.
        cost (Decimal): money for this one event, in units of `currency`; None when this partner may
            not see it.
        payment_type (str): which event carries the money: cpm (impression), cpc (click), cpcv
            (completed view), cpa (action), flat or none.
        domain (str): the site, where the ad was on one.
        app_bundle (str): id of the app, where the ad was in one.
        error_code (int): VAST code 100 to 901 of an event of type error.
        is_filtered (bool): invalid traffic, which summaries leave out.
        key_values (dict[str, str]): names and values that the partner sent with the ad request.

    Examples:
        >>> event = Event.model_validate({"revenue": "0.004500000", "new": 1})
        >>> event.revenue, event["new"], event.country
        (Decimal('0.004500000'), 1, None)
    """

    _first: ClassVar[tuple[str, ...]] = ("event_id", "event_time", "event_type", "revenue")

    event_id: Text = None
    event_time: Text = None
    event_date: DateField = None
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
    key_values: TextMap = None

    @property
    def time(self) -> datetime | None:
        """Return `event_time` in UTC; None when it was not sent or is not an ISO 8601 time."""
        return _moment(self.event_time)

    @property
    def received(self) -> datetime | None:
        """Return `received_at` in UTC; None when it was not sent or is not an ISO 8601 time."""
        return _moment(self.received_at)


def _moment(text: str | None) -> datetime | None:
    """Return a time as an aware datetime; one without a zone is UTC."""
    with suppress(ValueError, TypeError, OverflowError):
        found = datetime.fromisoformat(text or "")
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    return None


class SummaryRow(OpenModel):
    """Metrics of one group, or the total. Filtered events are not counted.

    Counts are numbers of events, money is in units of the summary's currency, and a rate is a
    fraction: 0.25 is 25 %. Quotients have 6 digits and are None when they would divide by zero.

    Attributes:
        date (date): the UTC day, of a summary by day.
        campaign_id (int): id of the campaign, of a summary by campaign; None for events without.
        campaign_name (str): name of the campaign.
        demand_tag_id (int): id of the demand tag, of a summary by demand tag; None for events
            without.
        demand_tag_name (str): name of the demand tag.
        ad_requests (int): events of type ad_request.
        impressions (int): events of type impression.
        starts (int): events of type start.
        first_quartiles (int): events of type first_quartile.
        midpoints (int): events of type midpoint.
        third_quartiles (int): events of type third_quartile.
        completions (int): events of type complete.
        clicks (int): events of type click.
        skips (int): events of type skip.
        errors (int): events of type error.
        revenue (Decimal): sum of the events' revenue.
        cost (Decimal): sum of the events' cost; an event without one counts as 0.
        profit (Decimal): revenue - cost.
        fill_rate (Decimal): impressions / ad_requests.
        ctr (Decimal): click-through rate, clicks / impressions.
        vcr (Decimal): video completion rate, completions / impressions.
        completion_rate_started (Decimal): completions / starts.
        error_rate (Decimal): errors / ad_requests.
        margin (Decimal): profit / revenue.
        ecpm (Decimal): revenue * 1000 / impressions; money per thousand.
        rpm (Decimal): revenue * 1000 / ad_requests; money per thousand.
        cpm_cost (Decimal): cost * 1000 / impressions; money per thousand.

    Examples:
        >>> row = client.summary("2026-01-15").rows[0]
        >>> row.impressions, row.revenue, row["fill_rate"], row.date
        (76, Decimal('0.274229029'), Decimal('0.655172'), None)
    """

    _first: ClassVar[tuple[str, ...]] = (
        *("date", "campaign_name", "demand_tag_name", "impressions", "clicks", "revenue"),
        *("cost", "ecpm", "ctr", "vcr"),
    )

    date: DateField = None
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

    Everything else that the service sends beside the rows is kept as sent; a field `rows` that is
    not the list of rows is `summary["rows_"]`.

    Attributes:
        rows (list[SummaryRow]): one per group; one in total if not grouped.
        totals (SummaryRow): the same metrics over all groups.
        group_by (str): day, campaign or demand_tag; None when not grouped.
        start_date (date): the first UTC day, included.
        end_date (date): the last UTC day, included.
        currency (str): ISO 4217 code of all money.
        timezone (str): the time zone of the days, UTC.

    Examples:
        >>> summary = client.summary("2026-01-01", "2026-01-31", group_by="campaign")
        >>> summary.rows[0].campaign_name, summary.rows[0].ecpm, summary["currency"]
        ('Spring Sale', Decimal('1.407724'), 'USD')
    """

    rows: list[SummaryRow] = []
    totals: Annotated[SummaryRow | None, _OrAsSent()] = None
    group_by: Text = None
    start_date: DateField = None
    end_date: DateField = None
    currency: Text = None
    timezone: Text = None

    def to_arrow(self) -> "pa.Table":
        """Return the rows as an Arrow table: the columns of `SummaryRow`, then others as text.

        Raises:
            ConfigurationError: when pyarrow is not installed.
            ProtocolError: for a value that its column cannot hold exactly.

        Examples:
            >>> table = client.summary("2026-01-15", "2026-01-16", group_by="day").to_arrow()
            >>> table.num_rows, str(table.schema.field("date").type)
            (2, 'date32[day]')
        """
        from adanalytics_client.tables import summary_table

        return summary_table([row.model_dump(mode="json") for row in self.rows])

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a pandas frame with Arrow's own types; see `to_arrow`.

        Examples:
            >>> client.summary("2026-01-15", group_by="campaign").to_pandas()["revenue"].sum()
            Decimal('0.274229029')
        """
        from adanalytics_client._outputs.frames import pandas_frames

        return pandas_frames()(self.to_arrow())

    def to_polars(self) -> "pl.DataFrame":
        """Return the rows as a polars frame; see `to_arrow`.

        Examples:
            >>> client.summary("2026-01-15", group_by="day").to_polars()["impressions"].sum()
            76
        """
        from adanalytics_client._outputs.frames import polars_frames

        return polars_frames()(self.to_arrow())

    def _known(self) -> "Iterator[tuple[str, Json]]":
        return (each for each in super()._known() if each[0] not in {"rows", "totals"})

    def __repr_args__(self) -> "Iterator[tuple[str | None, object]]":
        yield None, _Verbatim(counted(len(self.rows), "row"))
        yield from super().__repr_args__()

    def _repr_html_(self) -> str:
        """Return the first rows and columns, as notebooks show them."""
        rows = [dict(row._known()) for row in self.rows[:_MOST_ROWS]]  # noqa: SLF001  # our own
        names = list(islice(dict.fromkeys(name for row in rows for name in row), _MOST_COLUMNS))
        lines = [[_in_cell(row.get(name)) for name in names] for row in rows]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(f"<tr><td>{'</td><td>'.join(line)}</td></tr>" for line in lines)
        return f"<table><tr>{head}</tr>{body}</table><p>{escape(repr(self))}</p>"


def _in_cell(value: Json) -> str:
    return "" if value is None else escape(_SHORT.repr(value).strip("'"))


for _each in (Event, Summary, SummaryRow):
    _each.__module__ = "adanalytics_client"
