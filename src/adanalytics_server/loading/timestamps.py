"""Timestamps of a file: ISO 8601 in, whole milliseconds of UTC out."""

import re
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from adanalytics_server.clock import MILLISECONDS_PER_DAY, MILLISECONDS_PER_HOUR, rfc3339
from adanalytics_server.storage.days import day_number

_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?"
    r"(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)?"
)
# Years of four digits, so that the text of every time has the same length and sorts.
FIRST_DAY = date(1000, 1, 1)
_FIRST = day_number(FIRST_DAY) * MILLISECONDS_PER_DAY
_END = (day_number(date(9999, 12, 31)) + 1) * MILLISECONDS_PER_DAY
# Formatting three small numbers takes longer than everything else about a timestamp.
_IN_HOUR = tuple(f"{second // 60:02d}:{second % 60:02d}" for second in range(3600))
_IN_SECOND = tuple(f".{millisecond:03d}Z" for millisecond in range(1000))


class Instant(NamedTuple):
    """A point in time: milliseconds since 1970, and whether its text named a zone."""

    milliseconds: int
    zoned: bool


def parse_timestamp(text: str) -> Instant:
    """Read an ISO 8601 timestamp with ``T`` or a space and any offset, cut to milliseconds.

    Without a zone it counts as UTC.

    >>> parse_timestamp("2026-01-15 01:00:00.123999+01:00")
    Instant(milliseconds=1768435200123, zoned=True)

    Raises:
        ValueError: another form, or a day or time that does not exist.
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text[:80]!r} is not an ISO 8601 timestamp such as 2026-01-15T13:05:00.250Z"
        )
    day, hour, minute, second, fraction, sign, offset_hours, offset_minutes = found.groups()
    clock = (int(hour), int(minute), int(second or 0))
    offset = (int(offset_hours or 0), int(offset_minutes or 0))
    if clock > (23, 59, 59) or clock[1] > 59 or clock[2] > 59:
        raise ValueError(f"{text!r} has a time of day that does not exist")
    if offset > (23, 59) or offset[1] > 59:
        raise ValueError(f"{text!r} has an offset that does not exist")
    milliseconds = (
        _day_start(day)
        + (clock[0] * 3600 + clock[1] * 60 + clock[2]) * 1000
        + int((fraction or "")[:3].ljust(3, "0"))
        - (offset[0] * 60 + offset[1]) * (-60_000 if sign == "-" else 60_000)
    )
    if not _FIRST <= milliseconds < _END:
        raise ValueError(f"{text!r} is outside the years 1000 to 9999")
    return Instant(milliseconds, zoned=sign is not None or text[-1] in "Zz")


def format_timestamp(milliseconds: int) -> str:
    """Write an instant as :func:`adanalytics_server.clock.rfc3339` does, but faster.

    >>> format_timestamp(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    second = milliseconds // 1000
    hour = _up_to_hour(second // 3600)
    return f"{hour}{_IN_HOUR[second % 3600]}{_IN_SECOND[milliseconds % 1000]}"


@lru_cache(maxsize=64)
def _up_to_hour(hour: int) -> str:
    return rfc3339(hour * MILLISECONDS_PER_HOUR).partition(":")[0] + ":"


@lru_cache(maxsize=64)
def _day_start(text: str) -> int:
    try:
        return day_number(date.fromisoformat(text)) * MILLISECONDS_PER_DAY
    except ValueError as error:
        raise ValueError(f"{text!r} is a day that does not exist") from error
