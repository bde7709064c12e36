"""Dialects of rows: other fields and other values, as functions over decoded events.

Each takes the events of a range in order and returns the rows that are served in their place.
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from itertools import count
from uuid import UUID

import msgspec

from adanalytics_server.clock import milliseconds_of
from adanalytics_server.dialect import Row, RowChange
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import EVENT_FIELDS
from adanalytics_server.storage.money import nanos_from_canonical, text_from_nanos

_TIMES = ("event_time", "received_at")
_AMOUNTS = ("revenue", "cost")
_ZONE = timezone(timedelta(hours=-5))
_MILLISECOND = timedelta(milliseconds=1)
_ANSWER_NUMBERS = count(1)


def _each(change: Callable[[Row], Row]) -> RowChange:
    return lambda rows: [change(row) for row in rows]


def _values(names: tuple[str, ...], change: Callable[[str], object]) -> RowChange:
    """Change the texts in some fields; null stays."""

    def changed(row: Row) -> Row:
        texts = {name: row[name] for name in names if row[name] is not None}
        return row | {name: change(text) for name, text in texts.items()}

    return _each(changed)


def counters(events: list[Row]) -> list[Row]:
    """Return one row per auction and hour: counters of 0 or 1, and amounts with ten digits."""
    auctions: dict[tuple[str, int, str], list[Row]] = {}
    for event in events:
        key = (event["event_date"], event["event_hour"], event["auction_id"])
        auctions.setdefault(key, []).append(event)
    return [_counted(day, hour, group) for (day, hour, _), group in auctions.items()]


def _counted(day: str, hour: int, events: list[Row]) -> Row:
    types = {event["event_type"] for event in events}
    first = events[0]
    costs = [event["cost"] for event in events if event["cost"] is not None]
    return {
        "ymdh": f"{day}T{hour:02}:00:00",
        "supply_tag_id": first["supply_tag_id"],
        "demand_tag_id": first["demand_tag_id"],
        "campaign_id": first["campaign_id"],
        "country_code": first["country"],
        "usable_requests": int("ad_request" in types),
        "impressions": int("impression" in types),
        "completions": int("complete" in types),
        "clicks": int("click" in types),
        "revenue": _ten_digits([event["revenue"] for event in events]),
        "cost": _ten_digits(costs) if costs else None,
    }


def _ten_digits(amounts: list[str]) -> str:
    return text_from_nanos(sum(map(nanos_from_canonical, amounts))) + "0"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_CAMEL = {name: _camel(name) for name in EVENT_FIELDS}
camel = _each(lambda row: {_CAMEL[name]: value for name, value in row.items()})


def _integer_ids(row: Row) -> Row:
    """Replace UUIDs by their last 64 bits; those of an event need all of them, without a sign."""
    event, auction = (UUID(row[name]).int % 2**64 for name in ("event_id", "auction_id"))
    rest = {name: value for name, value in row.items() if name != "event_id"}
    return {"id": event, **rest, "auction_id": auction >> 1}


integer_ids = _each(_integer_ids)
empty_ids = _each(lambda row: row | {"event_id": ""})
nil_ids = _each(lambda row: row | {"event_id": str(UUID(int=0))})
auction_ids = _each(lambda row: row | {"event_id": row["auction_id"]})


def _epoch(text: str) -> msgspec.Raw:
    # Written out, with all milliseconds: a float might have other digits.
    milliseconds = milliseconds_of(datetime.fromisoformat(text))
    sign = "-" if milliseconds < 0 else ""
    seconds, rest = divmod(abs(milliseconds), 1000)
    return msgspec.Raw(f"{sign}{seconds}.{rest:03}".encode())


def _with_offset(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(_ZONE).isoformat(timespec="milliseconds")


def _local(row: Row) -> Row:
    times = {name: _with_offset(row[name])[:-6] for name in _TIMES}
    day, _, time = times["event_time"].partition("T")
    return row | times | {"event_date": day, "event_hour": int(time[:2])}


epoch_seconds = _values(_TIMES, _epoch)
nanoseconds = _values(_TIMES, lambda text: text.replace("Z", "000001Z"))
without_zone = _values(_TIMES, lambda text: text.removesuffix("Z"))
with_offset = _values(_TIMES, _with_offset)
local_times = _each(_local)

number_amounts = _values(_AMOUNTS, lambda text: msgspec.Raw(text.encode()))
float_amounts = _values(_AMOUNTS, lambda text: msgspec.Raw(json.dumps(float(text)).encode()))


def served_at(rows: list[Row]) -> list[Row]:
    """Add a field that differs in each response, as a time of the response does."""
    number = next(_ANSWER_NUMBERS)
    return [row | {"served_at": number} for row in rows]


def _is_in(days: DayRange, moment: datetime) -> bool:
    return days.start <= moment.date() <= days.end and days.hour in (None, moment.hour)


def closed_hours(days: DayRange, moment: datetime) -> bool:
    """Return whether an hour has a moment, both of its ends included."""
    return _is_in(days, moment) or (days.hour is not None and _is_in(days, moment - _MILLISECOND))


def hours_in(zone: tzinfo) -> Callable[[DayRange, datetime], bool]:
    """Return whether days and an hour of a zone have a moment, as a function."""
    return lambda days, moment: _is_in(days, moment.astimezone(zone))


local_hours = hours_in(_ZONE)
