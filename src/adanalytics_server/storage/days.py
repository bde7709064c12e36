"""Days in UTC: their numbers since 1970, and ranges with both ends and an optional hour."""

import re
from datetime import date, timedelta
from typing import NamedTuple

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH = date(1970, 1, 1)


def parse_date(text: str) -> date:
    """Read a strict ``YYYY-MM-DD``; Python would accept other forms.

    Raises:
        ValueError: another form, or a day that does not exist.
    """
    if not _DATE.fullmatch(text):
        raise ValueError("must be a date in the form YYYY-MM-DD")
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError("must be an existing day in the form YYYY-MM-DD") from error


def day_number(day: date) -> int:
    """Count the days from 1970-01-01 to ``day``."""
    return (day - _EPOCH).days


def day_of_number(number: int) -> date:
    return _EPOCH + timedelta(days=number)


class DayRange(NamedTuple):
    """Days ``start`` to ``end``, both included; ``hour`` picks one hour of each of them."""

    start: date
    end: date
    hour: int | None = None

    @property
    def first_day(self) -> int:
        return day_number(self.start)

    @property
    def last_day(self) -> int:
        return day_number(self.end)

    def widened(self) -> "DayRange":
        """Return all hours of the range and of a day more at each end, for days of other zones."""
        return DayRange(day_of_number(self.first_day - 1), day_of_number(self.last_day + 1))
