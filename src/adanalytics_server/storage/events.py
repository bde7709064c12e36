"""The event as it is stored and served: one canonical JSON text, and the facts rollups need.

The body is encoded once, when the event is loaded, and never decoded to serve a page.
"""

from typing import NamedTuple

import msgspec

from adanalytics_server.storage.money import nanos_from_canonical

# VAST names, in the order of the summary's counting columns.
EVENT_TYPES = (
    "ad_request",
    "impression",
    "start",
    "first_quartile",
    "midpoint",
    "third_quartile",
    "complete",
    "click",
    "skip",
    "error",
)
MEDIA_TYPES = ("video", "display", "audio", "native")
DEVICE_TYPES = ("desktop", "mobile", "tablet", "ctv", "set_top_box", "other", "unknown")
PAYMENT_TYPES = ("cpm", "cpc", "cpcv", "cpa", "flat", "none")

EVENT_TYPE_NUMBERS = {name: number for number, name in enumerate(EVENT_TYPES)}


class LogEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event-level record with its 26 fields, in the order they are served.

    Times are RFC 3339 in UTC with milliseconds, money is decimal text with nine digits.
    """

    event_id: str
    event_time: str
    event_date: str
    event_hour: int
    received_at: str
    event_type: str
    auction_id: str
    partner_id: str
    supply_tag_id: int
    demand_tag_id: int | None
    campaign_id: int | None
    creative_id: str | None
    deal_id: str | None
    media_type: str
    device_type: str
    country: str | None
    os: str | None
    currency: str
    revenue: str
    cost: str | None
    payment_type: str
    domain: str | None
    app_bundle: str | None
    error_code: int | None
    is_filtered: bool
    key_values: dict[str, str]


EVENT_FIELDS: tuple[str, ...] = LogEvent.__struct_fields__


class Record(NamedTuple):
    """An event ready to be stored: where it goes, its body, and what it adds to rollups.

    ``time`` is in milliseconds since 1970, money in nanos, ``event_type`` a position in
    :data:`EVENT_TYPES`. Records sort by ``(time, event_id)``, the order inside an hour.
    """

    time: int
    event_id: bytes
    body: bytes
    event_type: int
    campaign_id: int | None
    demand_tag_id: int | None
    revenue: int
    cost: int | None
    is_filtered: bool


class Facts(msgspec.Struct, frozen=True):
    """What of a stored body rollups and the list of ids need, to take it back out of them."""

    event_id: str
    event_type: str
    campaign_id: int | None
    demand_tag_id: int | None
    revenue: str
    cost: str | None
    is_filtered: bool

    def revenue_nanos(self) -> int:
        """Return the revenue in nanos."""
        return nanos_from_canonical(self.revenue)

    def cost_nanos(self) -> int | None:
        """Return the cost in nanos; ``None`` when this partner may not see it."""
        return None if self.cost is None else nanos_from_canonical(self.cost)


encode_event = msgspec.json.Encoder().encode
decode_event = msgspec.json.Decoder(LogEvent).decode
decode_facts = msgspec.json.Decoder(Facts).decode
