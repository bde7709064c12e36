"""The event as stored and served: one canonical JSON text, and the facts that rollups need.

The body is encoded once, when the event is loaded, and never decoded to serve a page.
"""

from collections.abc import Iterator
from enum import Enum, auto
from operator import attrgetter
from typing import Annotated, NamedTuple, get_args, get_type_hints

import msgspec

from .dimensions import DIMENSIONS
from .money import nanos_from_canonical

# The column of a summary that counts the events of a type; both in the order of the columns, the
# types by their VAST names.
COUNTER_OF = {
    "ad_request": "requests",
    "impression": "impressions",
    "start": "starts",
    "first_quartile": "first_quartiles",
    "midpoint": "midpoints",
    "third_quartile": "third_quartiles",
    "complete": "completions",
    "click": "clicks",
    "skip": "skips",
    "error": "errors",
}
EVENT_TYPES = tuple(COUNTER_OF)
MEDIA_TYPES = ("video", "display", "audio", "native")
DEVICE_TYPES = ("desktop", "mobile", "tablet", "ctv", "set_top_box", "other", "unknown")
PAYMENT_TYPES = ("cpm", "cpc", "cpcv", "cpa", "flat", "none")

EVENT_TYPE_NUMBERS = {name: number for number, name in enumerate(EVENT_TYPES)}


class Kind(Enum):
    """The kind of a field's values. Code that reads or describes events has a rule for each."""

    UUID = auto()
    INSTANT = auto()
    DATE = auto()
    HOUR = auto()
    EVENT_TYPE = auto()
    MEDIA_TYPE = auto()
    DEVICE_TYPE = auto()
    PAYMENT_TYPE = auto()
    # An identifier from another system, which may consist of digits only.
    NAME = auto()
    TEXT = auto()
    LOWER_CASE = auto()
    INTEGER = auto()
    COUNTRY = auto()
    CURRENCY = auto()
    MONEY = auto()
    ERROR_CODE = auto()
    BOOLEAN = auto()
    STRINGS = auto()


class LogEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event-level record: the single table of its 26 fields, in the order of the JSON.

    A field is nullable if its type is. A default applies if a row of a file lacks the field; fields
    without a default are required there, or derived.
    """

    event_id: Annotated[str, Kind.UUID, "Unique per partner. Deduplicate by it."]
    event_time: Annotated[
        str, Kind.INSTANT, "When the event happened: RFC 3339, UTC, with milliseconds."
    ]
    event_date: Annotated[str, Kind.DATE, "The UTC day of event_time."]
    event_hour: Annotated[int, Kind.HOUR, "The UTC hour of event_time, 0 to 23."]
    received_at: Annotated[
        str, Kind.INSTANT, "When the event arrived, in the same format; later for late data."
    ]
    event_type: Annotated[str, Kind.EVENT_TYPE, "What happened, as a VAST event name."]
    auction_id: Annotated[str, Kind.UUID, "The same for all events of one auction."]
    partner_id: Annotated[str, Kind.NAME, "Id of the partner."]
    supply_tag_id: Annotated[int, Kind.INTEGER, "Id of the tag that showed the ad."]
    demand_tag_id: Annotated[int | None, Kind.INTEGER, "Id of the tag that bought the ad."] = None
    campaign_id: Annotated[int | None, Kind.INTEGER, "Id of the campaign."] = None
    creative_id: Annotated[str | None, Kind.NAME, "Id of the ad that was shown."] = None
    deal_id: Annotated[str | None, Kind.NAME, "Id of the deal that bought the ad."] = None
    media_type: Annotated[str, Kind.MEDIA_TYPE, "The kind of ad."] = "display"
    device_type: Annotated[str, Kind.DEVICE_TYPE, "The kind of device."] = "unknown"
    country: Annotated[str | None, Kind.COUNTRY, "Country, ISO 3166-1 alpha-2."] = None
    os: Annotated[str | None, Kind.LOWER_CASE, "Operating system, in lower case."] = None
    currency: Annotated[str, Kind.CURRENCY, "ISO 4217 code, the same for all events of a partner."]
    revenue: Annotated[str, Kind.MONEY, "What this event earned, in units of the currency."] = (
        "0.000000000"
    )
    cost: Annotated[
        str | None,
        Kind.MONEY,
        "What this event cost, in units of the currency; null when this partner may not see it.",
    ] = None
    payment_type: Annotated[
        str, Kind.PAYMENT_TYPE, "How the ad is paid: which event type carries the money."
    ] = "none"
    domain: Annotated[str | None, Kind.TEXT, "The site; null for an app."] = None
    app_bundle: Annotated[str | None, Kind.NAME, "The app; null for a site."] = None
    error_code: Annotated[int | None, Kind.ERROR_CODE, "VAST error code of an error event."] = None
    is_filtered: Annotated[
        bool, Kind.BOOLEAN, "Invalid traffic: served as an event, left out of summaries."
    ] = False
    key_values: Annotated[
        dict[str, str], Kind.STRINGS, "Key-values of the request; {} if there are none."
    ] = msgspec.field(default_factory=dict)


class EventField(NamedTuple):
    """One field of ``LogEvent``, the source of schemas and rules."""

    name: str
    kind: Kind
    nullable: bool
    description: str


def _described() -> Iterator[EventField]:
    for name, annotated in get_type_hints(LogEvent, include_extras=True).items():
        kind, description = annotated.__metadata__
        yield EventField(name, kind, type(None) in get_args(annotated.__origin__), description)


FIELDS: dict[str, EventField] = {field.name: field for field in _described()}
EVENT_FIELDS: tuple[str, ...] = tuple(FIELDS)
# The kinds whose values are one of a few words.
CHOICES: dict[Kind, tuple[str, ...]] = {
    Kind.EVENT_TYPE: EVENT_TYPES,
    Kind.MEDIA_TYPE: MEDIA_TYPES,
    Kind.DEVICE_TYPE: DEVICE_TYPES,
    Kind.PAYMENT_TYPE: PAYMENT_TYPES,
}


class Record(NamedTuple):
    """An event ready to be stored: its place, its body, and its share of the rollups.

    ``time`` is in milliseconds since 1970, money in nanos, ``event_type`` an index of
    ``EVENT_TYPES``, and ``ids`` those of ``DIMENSIONS``. Records sort by ``(time, event_id)``, the
    order within an hour.
    """

    time: int
    event_id: bytes
    body: bytes
    event_type: int
    ids: tuple[int | None, ...]
    revenue: int
    cost: int | None
    is_filtered: bool


_ids_of = attrgetter(*(dimension.id_field for dimension in DIMENSIONS))


def record_of(event: LogEvent, body: bytes, *, time: int) -> Record:
    """Return the record of an event and its JSON; ``time`` in milliseconds since 1970."""
    return Record(
        time=time,
        event_id=bytes.fromhex(event.event_id.replace("-", "")),
        body=body,
        event_type=EVENT_TYPE_NUMBERS[event.event_type],
        ids=_ids_of(event),
        revenue=nanos_from_canonical(event.revenue),
        cost=None if event.cost is None else nanos_from_canonical(event.cost),
        is_filtered=event.is_filtered,
    )


encode_event = msgspec.json.Encoder().encode
decode_event = msgspec.json.Decoder(LogEvent).decode
