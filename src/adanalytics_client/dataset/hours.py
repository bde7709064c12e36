"""One hour of one UTC day: the unit in which a dataset is pulled, committed and checked."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Self

HOURS_A_DAY = range(24)


@dataclass(frozen=True, slots=True, order=True)
class Hour:
    """An hour from its first moment up to, not including, its end.

    >>> str(Hour(date(2026, 3, 1), 13))
    '2026-03-01T13'
    """

    day: date
    hour: int

    def __str__(self) -> str:
        return f"{self.day}T{self.hour:02}"

    @classmethod
    def read(cls, text: str) -> Self:
        """The hour that `str` gave as text.

        Raises ValueError for anything else.
        """
        day, mark, hour = text.partition("T")
        if not mark or len(hour) != 2 or int(hour) not in HOURS_A_DAY:
            raise ValueError(f"{text!r} is not an hour such as 2026-03-01T13")
        return cls(date.fromisoformat(day), int(hour))

    @property
    def begins(self) -> datetime:
        """Its first moment, in UTC."""
        return datetime(self.day.year, self.day.month, self.day.day, self.hour, tzinfo=UTC)


def hours_of(day: date) -> Iterator[Hour]:
    """The 24 hours of a day, in order."""
    return (Hour(day, hour) for hour in HOURS_A_DAY)
