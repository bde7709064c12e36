"""The models of the service's responses; they keep unknown fields.

No field is required, unknown fields stay, and a value of an unexpected type stays as it was sent
instead of raising an error: the service documents only the login, the parameters and the list of
dates, so a stricter model could refuse good data.

The text below a field describes it: editors, JSON schemas and `help` show it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from html import escape
from inspect import Parameter, Signature, cleandoc
from itertools import islice
from operator import attrgetter
from reprlib import Repr
from textwrap import TextWrapper, indent
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast, overload

import msgspec
from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from ._base.dates import from_epoch
from ._base.quantities import counted
from ._json.columns import GROUP_COLUMNS
from ._json.exact import Json, NotJson, digits, parse, parse_text
from ._json.fields import DOCUMENTED, EVENT_KINDS, FieldNames
from ._json.raw import MONEY

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pydantic._internal._model_construction import ModelMetaclass

    from ._outputs.frames import Amounts, Dtypes
else:
    ModelMetaclass = type(BaseModel)


_SENT = "_sent"
"""The key of an event's dict with the names of the fields that its attributes look up."""


def _plain_digits(value: Json) -> Json:
    """Return the value with Decimals as text; str() of a zero may be "0E-9"."""
    if isinstance(value, Decimal):
        return digits(value)
    if isinstance(value, dict):
        return {name: _plain_digits(member) for name, member in value.items()}
    return [_plain_digits(member) for member in value] if isinstance(value, list) else value


_IN_JSON = core_schema.plain_serializer_function_ser_schema(
    _plain_digits, when_used="json-unless-none"
)
_ANYTHING = core_schema.any_schema(serialization=_IN_JSON)


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
        json_schema = handler(cast("CoreSchema", schema["choices"][0]))
        return {"anyOf": [*json_schema.get("anyOf", [json_schema]), {}]}


# An amount in JSON is text or a whole number; a fraction is already a float by then.
_AMOUNT = core_schema.decimal_schema()
_TEXT_OR_WHOLE = core_schema.union_schema(
    [core_schema.str_schema(strict=True), core_schema.int_schema(strict=True)], mode="left_to_right"
)
# Other forms of a date stay text: converted to a date and back, the text would differ.
_DAY_TEXT = core_schema.chain_schema(
    [
        core_schema.str_schema(strict=True, pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
        core_schema.date_schema(),
    ]
)
Text = Annotated[str | None, _OrAsSent(core_schema.str_schema(strict=True))]
Whole = Annotated[int | None, _OrAsSent(core_schema.int_schema(strict=True))]
# Drivers of PostgreSQL write a bigint, which its count() and its sum() of integers are, as text:
# https://node-postgres.com/features/types
Count = Annotated[
    int | None,
    _OrAsSent(
        core_schema.union_schema(
            [
                core_schema.int_schema(strict=True),
                core_schema.chain_schema(
                    [
                        core_schema.str_schema(strict=True, pattern=r"^(0|-?[1-9][0-9]{0,18})$"),
                        core_schema.int_schema(),
                    ]
                ),
            ],
            mode="left_to_right",
        )
    ),
]
Flag = Annotated[bool | None, _OrAsSent(core_schema.bool_schema(strict=True))]
Amount = Annotated[
    Decimal | None,
    _OrAsSent(
        core_schema.json_or_python_schema(
            json_schema=core_schema.chain_schema([_TEXT_OR_WHOLE, _AMOUNT]), python_schema=_AMOUNT
        )
    ),
]
Day = Annotated[
    date | None,
    _OrAsSent(
        core_schema.json_or_python_schema(
            json_schema=_DAY_TEXT,
            python_schema=core_schema.union_schema(
                [_DAY_TEXT, core_schema.date_schema(strict=True)], mode="left_to_right"
            ),
        )
    ),
]
Pairs = Annotated[dict[str, str] | None, _OrAsSent()]

_OF_EVERY_MODEL = frozenset(dir(BaseModel))
_ANY_FIELDS = Signature([Parameter("fields", Parameter.VAR_KEYWORD, annotation=Any)])
_FIELDS = "\n\nAttributes:\n"
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


def _without_fields(schema: dict[str, Any]) -> None:
    if text := schema.get("description"):
        schema["description"] = text.partition(_FIELDS)[0]


class OpenModel(BaseModel, metaclass=_ShortHelp):
    """A record with attribute and `[]` access that keeps unknown fields.

    It is a pydantic model: `model_validate`, `model_dump` and `model_json_schema` work as usual.
    `model_dump()` gives back what was read. `model_dump_json()` writes every Decimal as text, as
    pydantic does; `rows()` and written files keep the service's own digits and types.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="allow",
        protected_namespaces=(),
        use_attribute_docstrings=True,
        json_schema_extra=_without_fields,
    )
    _first: ClassVar[tuple[str, ...]] = ()
    if not TYPE_CHECKING:
        # Type checkers would take it for a required field.
        __pydantic_extra__: dict[str, Annotated[Any, _AsSent()]]

    @classmethod
    def __pydantic_init_subclass__(cls, **_options: object) -> None:
        # The annotations of all fields would fill a screen of help().
        cls.__signature__ = _ANY_FIELDS

    @classmethod
    def model_validate_json(  # type: ignore[override]  # pydantic's options differ by version
        cls,
        json_data: str | bytes | bytearray,
        *,
        strict: bool | None = None,
        context: object = None,
    ) -> Self:
        """Read the record from JSON text; a number with a fraction becomes an exact Decimal.

        Raises:
            pydantic.ValidationError: when the text is not a JSON object.

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
        """Return a field by the service's name for it; a known field that was not sent is None.

        Raises:
            KeyError: when the field is unknown and was not sent.
        """
        extra = self.model_extra or {}
        if name in type(self).model_fields and name not in extra:
            return getattr(self, name)
        return extra[name]

    def _known(self) -> "Iterator[tuple[str, Json]]":
        """Return the fields that are not None, the most useful ones first."""
        fields = dict(super().__iter__())
        sent = vars(self).get(_SENT, {})
        names = dict.fromkeys((*(sent.get(name, name) for name in self._first), *fields))
        return ((name, fields[name]) for name in names if fields.get(name) is not None)

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

    The event names in `event_type` and the error codes in `error_code` are those of VAST 4.2
    (https://iabtechlab.com/standards/vast/). A field that was not sent is None.

    An attribute is the field that `ServiceProfile.fields` maps to it, else the field of its name,
    else one of another spelling, such as `eventTime`. Such fields keep the service's names in
    `extra`, `[]` and `model_dump()`.

    Examples:
        >>> event = Event.model_validate({"revenue": "0.004500000", "eventId": "a", "new": 1})
        >>> event.revenue, event.event_id, event.country
        (Decimal('0.004500000'), 'a', None)
        >>> event.extra
        {'eventId': 'a', 'new': 1}
    """

    _first: ClassVar[tuple[str, ...]] = ("event_id", "event_time", "event_type", "revenue")

    event_id: Text = None
    """UUID, unique per partner, such as `77308bcb-b00d-47d0-8f20-40b7c0bff5a3`. Use this id to
    remove duplicates."""
    event_time: Text = None
    """Time of the event, as sent: RFC 3339 in UTC, such as `2026-01-15T13:05:09.250Z`. The property
    `time` returns it as a `datetime`."""
    event_date: Day = None
    """The UTC day of `event_time`, such as `2026-01-15`."""
    event_hour: Whole = None
    """The UTC hour of `event_time`, 0 to 23, such as `13`."""
    received_at: Text = None
    """Time when the service received the event, as sent, such as `2026-01-15T13:05:10.100Z`."""
    event_type: Text = None
    """`ad_request`, `impression`, `start`, `first_quartile`, `midpoint`, `third_quartile`,
    `complete`, `click`, `skip` or `error`."""
    auction_id: Text = None
    """UUID that all events of an auction share, such as `174df19e-5ba3-48ad-ad27-426065eb3641`."""
    partner_id: Text = None
    """Id of the partner whose data were requested, such as `acme`."""
    supply_tag_id: Whole = None
    """Id of the placement in which the ad was shown, such as `21`."""
    demand_tag_id: Whole = None
    """Id of the tag that the ad was bought through, such as `503`. None when no ad was bought."""
    campaign_id: Whole = None
    """Id of the campaign, such as `1003`. None for an ad without a campaign."""
    creative_id: Text = None
    """Id of the ad itself, such as `v-15a`. None when no ad was chosen."""
    deal_id: Text = None
    """Id of the deal under which the ad was bought, such as `deal-run-2`. None without a deal."""
    media_type: Text = None
    """`video`, `display`, `audio` or `native`."""
    device_type: Text = None
    """`desktop`, `mobile`, `tablet`, `ctv`, `set_top_box`, `other` or `unknown`."""
    country: Text = None
    """The country, an ISO 3166-1 alpha-2 code such as `DE`. None when it is unknown."""
    os: Text = None
    """The operating system, in lower case, such as `android`. None when it is unknown."""
    currency: Text = None
    """ISO 4217 code, the same for all events of a partner, such as `USD`."""
    revenue: Amount = None
    """Revenue of this event, in units of `currency`, such as `0.021867275`; may be negative."""
    cost: Amount = None
    """Cost of this event, in units of `currency`, such as `0.013995056`. None when the partner is
    not allowed to see it."""
    payment_type: Text = None
    """How the ad is paid for: `cpm` (by impressions), `cpc` (by clicks), `cpcv` (by completed
    views), `cpa` (by actions), `flat` or `none`."""
    domain: Text = None
    """The site that showed the ad, such as `news.example`. None outside sites."""
    app_bundle: Text = None
    """Id of the app that showed the ad, such as `com.example.player`. None outside apps."""
    error_code: Whole = None
    """VAST error code, 100 to 901, such as `303`. None for any `event_type` except error."""
    is_filtered: Flag = None
    """`true` for invalid traffic, which summaries leave out; otherwise `false`."""
    key_values: Pairs = None
    """Names and values sent with the ad request, such as `{"section": "sports"}`; `{}` if there are
    none."""

    @classmethod
    def model_validate(  # type: ignore[override]  # pydantic's options differ by version
        cls,
        obj: object,
        *,
        strict: bool | None = None,
        from_attributes: bool | None = None,
        context: object = None,
    ) -> Self:
        """Check an event; its attributes find fields under other spellings of their names."""
        event = super().model_validate(
            obj, strict=strict, from_attributes=from_attributes, context=context
        )
        apply_names([event], DOCUMENTED)
        return event

    @property
    def extra(self) -> dict[str, Json]:
        """Return the fields under names that are not documented, as they were sent."""
        return self.model_extra or {}

    if not TYPE_CHECKING:
        # Type checkers would allow every name.
        def __getattr__(self, name: str) -> Json:
            sent = vars(self).get(_SENT, {})
            if name not in sent:
                return super().__getattr__(name)
            return getattr(Event.model_validate({name: self[sent[name]]}), name)

    @property
    def time(self) -> datetime | None:
        """Return `event_time` in UTC; None when it was not sent, or is no time that is understood.

        It may be an ISO 8601 time, or a number of seconds or milliseconds since 1970.
        """
        return _moment(self.event_time)

    @property
    def received(self) -> datetime | None:
        """Return `received_at` in UTC; see `time`."""
        return _moment(self.received_at)


def typed_events(text: bytes, names: Iterable[str]) -> "Iterator[Event] | None":
    """Return events that have these fields, each with a value of its type; None for any others.

    They are what pydantic makes of them, in half of the time. Each is made when it is taken, most
    often in the memory of the one before.

    Args:
        text: a JSON list of objects.
        names: the fields of the first one.
    """
    fields = frozenset(names)
    if not fields <= Event.model_fields.keys():
        return None
    try:
        rows = _row_decoder(fields).decode(text)
    except msgspec.DecodeError:
        return None
    for name in fields.intersection(MONEY):
        if not all(map(Decimal.is_finite, filter(None, map(attrgetter(name), rows)))):
            return None
    return _events(rows, fields)


def _events(rows: Iterable[Any], fields: frozenset[str]) -> "Iterator[Event]":
    blank = dict.fromkeys(Event.model_fields)
    contents = map(msgspec.structs.asdict, rows)
    if len(fields) < len(blank):
        contents = map(blank.__or__, contents)
    # `object.__setattr__`, which looks for the slot at each call, takes twice the time.
    set_dict, set_names, set_extra, set_private = (
        vars(BaseModel)[f"__{slot}__"].__set__
        for slot in ("dict", "pydantic_fields_set", "pydantic_extra", "pydantic_private")
    )
    for content in contents:
        event = Event.__new__(Event)
        set_dict(event, content)
        set_names(event, set(fields))
        set_extra(event, {})
        set_private(event, None)
        yield event


@lru_cache(maxsize=8)
def _row_decoder(names: frozenset[str]) -> "msgspec.json.Decoder[list[Any]]":
    """Return a decoder of events with exactly these fields, in the order of the model."""
    fields = [
        (name, field.annotation) for name, field in Event.model_fields.items() if name in names
    ]
    row: Any = msgspec.defstruct("Row", fields, forbid_unknown_fields=True, gc=False)
    return msgspec.json.Decoder(list[row])


def apply_names(events: Sequence[Event], names: FieldNames) -> None:
    """Let the attributes of events find fields that the service sends under other names.

    A field that has another name than its attribute stays where it is; the attribute, which is then
    missing among the event's own, looks it up.
    """
    mapped = [
        name for name in (*names.fields.values(), names.time_field or "") if name in EVENT_KINDS
    ]
    parts_by_names: dict[tuple[str, ...], dict[str, str]] = {}
    for event in events:
        # Never None in a model that keeps unknown fields.
        extra = cast("dict[str, Json]", event.model_extra)
        key = tuple(extra)
        if (parts := parts_by_names.get(key)) is None:
            parts = parts_by_names[key] = {
                part: name
                for name in reversed((*key, *mapped))
                if (part := names.documented(name)) and part in EVENT_KINDS
            }
        if parts:
            _apply(event, parts, extra, names)


def _apply(
    event: Event, parts: Mapping[str, str], extra: dict[str, Json], names: FieldNames
) -> None:
    attributes, fields = vars(event), event.model_fields_set
    sent = parts
    if not (fields.isdisjoint(parts) and fields.issuperset(parts.values())):
        # The exact name beats another spelling.
        beaten = {part for part in fields.intersection(parts) if names.documented(part) == part}
        sent = {part: name for part, name in parts.items() if name in fields and part not in beaten}
    for part in sent:
        value = attributes.pop(part)
        if part in fields:
            extra[part] = value
    attributes[_SENT] = sent


def _moment(value: Json) -> datetime | None:
    """Return a time as an aware datetime; one without a zone is UTC."""
    if isinstance(value, int | Decimal):
        return from_epoch(value)
    with suppress(ValueError, TypeError, OverflowError):
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


class SummaryRow(OpenModel):
    """The metrics of one group, or of all groups together. Filtered events are not counted.

    Counts are numbers of events, money is in units of the summary's currency, and a rate is a
    fraction: 0.25 is 25 %. Quotients have six decimal places and are None when the divisor is zero.
    A column that the service spells in another way, such as `campaignId`, has its documented name.

    Examples:
        >>> row = client.summary("2026-01-15").rows[0]
        >>> row.impressions, row.revenue, row["fill_rate"], row.date
        (76, Decimal('0.274229029'), Decimal('0.655172'), None)
    """

    _first: ClassVar[tuple[str, ...]] = (
        *("date", "campaign_name", "demand_tag_name", "impressions", "clicks", "revenue"),
        *("cost", "ecpm", "ctr", "vcr"),
    )

    date: Day = None
    """The UTC day, such as `2026-01-15`. None when not grouped by day."""
    campaign_id: Whole = None
    """Id of the campaign, such as `1001`. None for events without a campaign, or when not grouped
    by campaign."""
    campaign_name: Text = None
    """Name of the campaign, such as `Spring Sale`. None when the name is unknown, or when not
    grouped by campaign."""
    demand_tag_id: Whole = None
    """Id of the demand tag, such as `501`. None for events without a demand tag, or when not
    grouped by demand tag."""
    demand_tag_name: Text = None
    """Name of the demand tag, such as `Open Auction Video`. None when the name is unknown, or when
    not grouped by demand tag."""
    requests: Count = None
    """Number of events of type ad_request, such as `1204`."""
    impressions: Count = None
    """Number of events of type impression, such as `902`."""
    starts: Count = None
    """Number of events of type start, such as `420`."""
    first_quartiles: Count = None
    """Number of events of type first_quartile, such as `376`."""
    midpoints: Count = None
    """Number of events of type midpoint, such as `338`."""
    third_quartiles: Count = None
    """Number of events of type third_quartile, such as `292`."""
    completions: Count = None
    """Number of events of type complete, such as `256`."""
    clicks: Count = None
    """Number of events of type click, such as `9`."""
    skips: Count = None
    """Number of events of type skip, such as `66`."""
    errors: Count = None
    """Number of events of type error, such as `44`."""
    revenue: Amount = None
    """Sum of the events' revenue, in units of the summary's currency, such as `5.149394377`."""
    cost: Amount = None
    """Sum of the events' cost, in units of the currency, such as `3.594273253`; an event without a
    cost counts as 0."""
    profit: Amount = None
    """`revenue - cost`, in units of the currency, such as `1.555121124`."""
    fill_rate: Amount = None
    """`impressions / requests`, a fraction such as `0.749169`. None if `requests` is 0."""
    ctr: Amount = None
    """Click-through rate, `clicks / impressions`, a fraction such as `0.009978`. None if
    `impressions` is 0."""
    vcr: Amount = None
    """Video completion rate, `completions / impressions`, a fraction such as `0.283814`. None
    without impressions."""
    completion_rate_started: Amount = None
    """`completions / starts`, a fraction such as `0.609524`. None if `starts` is 0."""
    error_rate: Amount = None
    """`errors / requests`, a fraction such as `0.036545`. None if `requests` is 0."""
    margin: Amount = None
    """`profit / revenue`, a fraction such as `0.302001`. None if `revenue` is 0."""
    ecpm: Amount = None
    """Revenue per thousand impressions, `revenue * 1000 / impressions`, such as `5.708863`. None
    without impressions."""
    rpm: Amount = None
    """Revenue per thousand ad requests, `revenue * 1000 / requests`, such as `4.276906`. None
    without ad requests."""
    cpm_cost: Amount = None
    """Cost per thousand impressions, `cost * 1000 / impressions`, such as `3.984782`. None if
    `impressions` is 0."""


class Summary(OpenModel):
    """Aggregated metrics: `rows` in the service's order, and `totals` if the service sends them.

    Iterating yields the rows, `len()` counts them, and `summary[0]` is the first. Undocumented
    fields are kept as sent. If the service sends a `rows` field that is not the list of rows, read
    it as `summary["rows_"]`.

    Examples:
        >>> summary = client.summary("2026-01-01", "2026-01-31", group_by="campaign")
        >>> summary[0].campaign_name, summary[0].ecpm, summary["currency"]
        ('Spring Sale', Decimal('1.407724'), 'USD')
    """

    rows: list[SummaryRow] = []
    """One row per group; a single row without grouping."""
    totals: Annotated[SummaryRow | None, _OrAsSent()] = None
    """The metrics of all groups together."""
    group_by: Text = None
    """`day`, `campaign` or `demand_tag`. None when not grouped."""
    start_date: Day = None
    """The first UTC day (inclusive), such as `2026-01-15`."""
    end_date: Day = None
    """The last UTC day (inclusive), such as `2026-01-16`."""
    currency: Text = None
    """ISO 4217 currency code of all amounts, such as `USD`."""
    timezone: Text = None
    """The time zone of the days: `UTC`."""

    @property
    def request_id(self) -> str | None:
        """Return the `X-Request-Id` of the response, to quote to support; `==` ignores it."""
        return vars(self).get("_request_id")

    def to_arrow(self) -> "pa.Table":
        """Return the rows as an Arrow table, with the types of their values.

        Raises:
            ConfigurationError: when pyarrow is not installed.

        Examples:
            >>> table = client.summary("2026-01-15", "2026-01-16", group_by="day").to_arrow()
            >>> table.num_rows, str(table.schema.field("date").type)
            (2, 'date32[day]')
        """
        from .tables import summary_table

        return summary_table([row.model_dump(mode="json") for row in self.rows])

    def to_pandas(
        self, *, amounts: "Amounts | None" = None, dtypes: "Dtypes" = "arrow"
    ) -> "pd.DataFrame":
        """Return the rows as a pandas DataFrame; see `to_arrow`.

        It has columns for days, campaigns or tags only if the summary is grouped by them.

        Args:
            amounts: `exact` for decimals, or `float`, which works in every pandas calculation; by
                default exact with Arrow's types, and float with NumPy's.
            dtypes: `arrow` for Arrow's types, or `numpy` for those that most code for pandas
                expects: days as `datetime64`, which compare with text.

        Examples:
            >>> client.summary("2026-01-15", group_by="campaign").to_pandas()["revenue"].sum()
            Decimal('0.274229029')
        """
        from ._outputs.frames import frame_maker

        return frame_maker("pandas", amounts, dtypes)(self._grouped())

    def to_polars(self, *, amounts: "Amounts" = "exact") -> "pl.DataFrame":
        """Return the rows as a polars DataFrame with the columns of `to_pandas`.

        Args:
            amounts: as for `to_pandas`.

        Examples:
            >>> client.summary("2026-01-15", group_by="day").to_polars()["impressions"].sum()
            76
        """
        from ._outputs.frames import frame_maker

        frame: pl.DataFrame = frame_maker("polars", amounts)(self._grouped())
        return frame

    def _grouped(self) -> "pa.Table":
        """Return the table without the columns that name groups of another kind."""
        sent = {name for row in self.rows for name in row.model_fields_set}
        group = "date" if self.group_by == "day" else str(self.group_by)
        rest = [name for name in GROUP_COLUMNS if name not in sent and not name.startswith(group)]
        return self.to_arrow().drop_columns(rest)

    def __iter__(self) -> "Iterator[SummaryRow]":  # type: ignore[override]  # pydantic's is dict()'s
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, name: int) -> SummaryRow: ...
    @overload
    def __getitem__(self, name: slice) -> list[SummaryRow]: ...
    @overload
    def __getitem__(self, name: str) -> Json: ...
    def __getitem__(self, name: int | slice | str) -> "SummaryRow | list[SummaryRow] | Json":
        """Return a row by its place, rows by a slice, or a field by its name."""
        return super().__getitem__(name) if isinstance(name, str) else self.rows[name]

    def _known(self) -> "Iterator[tuple[str, Json]]":
        return (pair for pair in super()._known() if pair[0] not in {"rows", "totals"})

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


_FILLER = TextWrapper(95, subsequent_indent="    ", break_on_hyphens=False)
# Editors show the text below a field; help() shows only that of the class.
for _model in (Event, SummaryRow, Summary):
    _fields = _model.model_fields.items()
    _texts = (f"{name} ({info.annotation}): {info.description}" for name, info in _fields)
    _described = "\n".join(_FILLER.fill(text) for text in _texts)
    _model.__doc__ = f"{cleandoc(_model.__doc__ or '')}{_FIELDS}{indent(_described, '    ')}"
    _model.__module__ = "adanalytics_client"
