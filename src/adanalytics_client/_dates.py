"""Calendar days as the service takes them: UTC, `YYYY-MM-DD`, both ends included."""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from adanalytics_client.errors import ConfigurationError

Day = str | date
"""A day as a user writes it: `"2026-01-15"` or a `datetime.date`."""

# date.fromisoformat alone would also take 20260115 and 2026-W03-4.
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def to_day(value: object, name: str) -> date:
    """Turn an ISO string or a date into a date.

    Raises:
        ConfigurationError: for another form, an impossible day, or a datetime, whose day
            depends on a time zone that only the caller knows.

    Example:
        >>> to_day("2026-01-15", "start")
        datetime.date(2026, 1, 15)
    """
    if isinstance(value, datetime):
        raise ConfigurationError(f"{name} is a datetime; pass its UTC day, value.date().")
    if isinstance(value, date):
        return value
    if isinstance(value, str) and _ISO_DAY.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise ConfigurationError(f"{name}: {value} is not a day of the calendar.") from None
    raise ConfigurationError(f"{name}: write a day as YYYY-MM-DD or a date, not {value!r}.")


def to_range(start: Day, end: Day | None) -> tuple[date, date]:
    """Turn a start and an optional end into two days in order; no end means one day.

    Raises:
        ConfigurationError: for a wrong day, or an end before the start.
    """
    first = to_day(start, "start")
    last = first if end is None else to_day(end, "end")
    if last < first:
        raise ConfigurationError(f"end {last} is before start {first}; swap them.")
    return first, last


def days_between(first: date, last: date) -> Iterator[date]:
    """Every day from `first` to `last`, both included."""
    for offset in range((last - first).days + 1):
        yield first + timedelta(days=offset)
