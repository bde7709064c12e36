"""The values that a row gave as a whole event: what is derived, and what must agree."""

from collections.abc import Mapping
from typing import Any

import msgspec

from adanalytics_server.clock import MILLISECONDS_PER_HOUR
from adanalytics_server.loading.errors import FieldError
from adanalytics_server.loading.identity import auction_of
from adanalytics_server.loading.timestamps import format_timestamp
from adanalytics_server.storage.events import (
    EVENT_TYPE_NUMBERS,
    LogEvent,
    Record,
    encode_event,
)
from adanalytics_server.storage.money import text_from_nanos


def build_record(given: Mapping[str, Any], *, partner_id: str, currency: str) -> Record:
    """Build the record of an event from the fields that are known of it.

    Without ``event_id`` the record's id is empty, in the body too, until
    :func:`adanalytics_server.loading.identity.named` fills it in.

    Args:
        given: field -> parsed value, nulls left out; the required fields are there. Times are
            :class:`adanalytics_server.loading.timestamps.Instant`, money is nanos.
        partner_id: the partner whose file it is.
        currency: ISO 4217 code of that partner.

    Raises:
        FieldError: two fields contradict each other, or the partner.
    """
    time: int = given["event_time"].milliseconds
    received: int = given.get("received_at", given["event_time"]).milliseconds
    revenue: int = given.get("revenue", 0)
    cost: int | None = given.get("cost")
    event_id: str = given.get("event_id", "")
    event_time = format_timestamp(time)
    fixed = {
        "event_date": event_time[:10],
        "event_hour": time // MILLISECONDS_PER_HOUR % 24,
        "partner_id": partner_id,
        "currency": currency,
    }
    _check_together(given, fixed)
    fields = {
        **given,
        **fixed,
        "event_id": event_id,
        "event_time": event_time,
        "received_at": event_time if received == time else format_timestamp(received),
        "auction_id": given.get("auction_id") or (event_id and auction_of(event_id)),
        "revenue": text_from_nanos(revenue),
        "cost": None if cost is None else text_from_nanos(cost),
    }
    event = LogEvent(**fields)
    return Record(
        time=time,
        event_id=bytes.fromhex(event_id.replace("-", "")),
        body=_encoded(event),
        event_type=EVENT_TYPE_NUMBERS[given["event_type"]],
        campaign_id=event.campaign_id,
        demand_tag_id=event.demand_tag_id,
        revenue=revenue,
        cost=cost,
        is_filtered=event.is_filtered,
    )


def _check_together(given: Mapping[str, Any], fixed: Mapping[str, Any]) -> None:
    for field, value in fixed.items():
        if given.get(field, value) != value:
            source = "this partner" if field in ("partner_id", "currency") else "event_time"
            raise FieldError(field, f"{given[field]!r} contradicts {source}, which has {value!r}")
    if "domain" in given and "app_bundle" in given:
        raise FieldError("app_bundle", "an event has a domain or an app_bundle, not both")
    if "error_code" in given and given["event_type"] != "error":
        raise FieldError("error_code", f"only error events have one, not {given['event_type']}")


def _encoded(event: LogEvent) -> bytes:
    try:
        return encode_event(event)
    except UnicodeEncodeError as error:
        # Half of a surrogate pair, which JSON can spell as \ud800 and UTF-8 cannot hold.
        lone = error.object[error.start]
        values = msgspec.structs.asdict(event)
        field = next(name for name, value in values.items() if lone in _all_text(value))
        raise FieldError(field, f"{lone!r} is half a character that no text can hold") from error


def _all_text(value: object) -> str:
    if isinstance(value, dict):
        return "".join((*value.keys(), *value.values()))
    return value if isinstance(value, str) else ""
