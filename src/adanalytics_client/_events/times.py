"""The days and hours of events, as far as fields under known names state them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Any

import msgspec

from adanalytics_client._base.dates import from_epoch
from adanalytics_client._json.fields import FieldNames
from adanalytics_client._json.raw import RawRows

_DAY = re.compile(rb'"(\d{4}-\d\d-\d\d)')
_HOUR = re.compile(rb'"?(\d\d?)"?')
_ISO = re.compile(rb'"(\d{4}-\d\d-\d\d[T ]\d\d[^"]*)"')
_DAY_END = 11
_ONE = timedelta(1)

_SAMPLES = 16
"""The events of a page to read the day of, before all of them."""


def time_of(rows: RawRows) -> str | None:
    """Return the field of the first event that is known to hold its time, as JSON text."""
    sample = rows.sample()
    parts = ("event_time", "event_date")
    name = next(filter(None, (rows.names.sent(part, sample) for part in parts)), None)
    return bytes(sample[name]).decode() if name else None


def places_of(
    event: Mapping[str, msgspec.Raw], names: FieldNames, zone: tzinfo
) -> Iterator[tuple[str | None, int | None]]:
    """Yield the day and hour of an event, as far as it states them.

    In a service whose hours are local, its time may be in UTC or local, and so may the day and hour
    beside it, so one of them that fits is enough.
    """
    day_text, clock, time = (
        # A field may have an empty name.
        b"" if (name := names.sent(part, event)) is None else bytes(event[name])
        for part in ("event_date", "event_hour", "event_time")
    )
    day, hour = _DAY.match(day_text), _HOUR.fullmatch(clock)
    if day or hour:
        yield day and day[1].decode(), hour and int(hour[1])
        if zone is UTC:
            return
    for moment in _moments(time, zone):
        yield f"{moment.date()}", moment.hour


def days_of(rows: RawRows, zone: tzinfo) -> frozenset[date] | None:
    """Return the days of all events of a page; None if the day of one of them is not known.

    Where a sample is in the order of time and leaves out no day, it shows all days; else all events
    are read.
    """
    sample = rows.sample()
    candidates = (rows.names.sent(part, sample) for part in ("event_date", "event_time"))
    names = [name for name in candidates if name is not None]
    texts = [*rows.texts[:: max(len(rows) // _SAMPLES, 1)], *rows.texts[-1:]]
    if not (names and _are_in_order(_fields(names[-1], texts), zone)):
        texts = [*rows.texts]
    # Where the hours are local, each of the fields may be in UTC, and an event is of both days.
    days: set[date] = set()
    for name in names[:1] if zone is UTC else names:
        # Up to the day, few of the texts differ.
        day_sets = [
            days_in(text, zone)
            for text in {
                text[:_DAY_END] if zone is UTC and text.endswith(b'Z"') else text
                for text in _fields(name, texts)
            }
        ]
        if not all(day_sets):
            return None
        days = days.union(*day_sets)
    return frozenset(days) if names else None


def _are_in_order(texts: Iterable[bytes], zone: tzinfo) -> bool:
    """Return whether times only rise or only fall, by at most a day at a time.

    Times that are all the same show no order.
    """
    moments = [next(_moments(text, zone), None) for text in texts]
    times = [moment for moment in moments if moment is not None]
    if len(times) < len(moments):
        return False
    # Other columns rise, too, such as ids; moments of one pull lie close together.
    steps = {after - before for before, after in pairwise(times)} - {timedelta()}
    return bool(steps) and (
        all(timedelta() < step <= _ONE for step in steps)
        or all(-_ONE <= step < timedelta() for step in steps)
    )


def _fields(name: str, texts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield one field of events, as JSON text; empty for an event without it."""
    return (bytes(event.value) for event in map(_field_decoder(name).decode, texts))


@lru_cache(maxsize=8)
def _field_decoder(name: str) -> msgspec.json.Decoder[Any]:
    fields = [("value", msgspec.Raw, msgspec.Raw())]
    return msgspec.json.Decoder(
        msgspec.defstruct("Timed", fields, rename={"value": name}, gc=False)
    )


def days_in(text: bytes, zone: tzinfo) -> set[date]:
    """Return the local days that a field, as JSON text, may stand for."""
    days = {moment.date() for moment in _moments(text, zone)}
    day = _DAY.match(text)
    if day and not (days and zone is UTC):
        with suppress(ValueError):
            days.add(date.fromisoformat(day[1].decode()))
    return days


def _moments(text: bytes, zone: tzinfo) -> Iterator[datetime]:
    """Yield the local times that a text may stand for: without an offset, it may also be in UTC."""
    with suppress(ValueError, OverflowError):
        moment = from_epoch(text.decode("ascii"))
        if iso := _ISO.fullmatch(text):
            moment = datetime.fromisoformat(iso[1].decode("ascii"))
        if moment is None:
            return
        if moment.tzinfo is None:
            yield moment.replace(tzinfo=zone)
            moment = moment.replace(tzinfo=UTC)
        yield moment.astimezone(zone)
