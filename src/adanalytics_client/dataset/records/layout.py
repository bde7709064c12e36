"""The hours of a dataset, and the names of its files, with slashes, below its root.

`data` contains only finished parts, because readers disagree on which names to skip; everything
else has its own folder beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Self

from adanalytics_client._base.dates import LATENESS

DATA = "data"
OURS = "_adanalytics"
"""The folder beside the data; it exists as soon as a dataset is begun."""

IDENTITY = f"{OURS}/dataset.json"
SCHEMA = f"{OURS}/schema.json"
NAMES = f"{OURS}/names.json"
TABLE = f"{OURS}/table.json"
LOCK = f"{OURS}/lock"
STORE_CLOCK = f"{OURS}/clock"
"""A file that is written to learn the time of object storage."""
MANIFEST = f"{OURS}/manifest"
"""One file per day."""
JOURNAL = f"{OURS}/journal"
"""One file per hour whose file is being replaced, and files that are to replace others of a day."""
REPARTITION = f"{JOURNAL}/repartition.json"
"""The partition that a dataset is being given."""
SPOOL = f"{OURS}/spool"
SCRATCH = f"{OURS}/scratch"
REPORTS = f"{OURS}/reports"
RUNS = f"{OURS}/runs.json"
EXPORTS = f"{OURS}/exports"


@dataclass(frozen=True, slots=True, order=True)
class Hour:
    """One hour of a day of the service: the unit in which a dataset is written and checked."""

    day: date
    hour: int

    def __str__(self) -> str:
        return f"{self.day}T{self.hour:02}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse a string such as `2026-03-01T13`, and return the hour that it names.

        Raises:
            ValueError: for a string that names no hour.

        Examples:
            >>> Hour.read("2026-03-01T13").hour
            13
        """
        day, mark, hour = text.partition("T")
        if not mark or len(hour) != 2 or int(hour) not in range(24):
            raise ValueError(f"{text!r} is not an hour such as 2026-03-01T13")
        return cls(date.fromisoformat(day), int(hour))

    @property
    def start(self) -> datetime:
        """Return the first moment of the hour, if the service's days and hours are in UTC."""
        return datetime(self.day.year, self.day.month, self.day.day, self.hour, tzinfo=UTC)

    def is_over(self, moment: datetime) -> bool:
        """Return whether the hour, plus two hours for late data, is over at a given moment.

        The moment is in the time zone of the service.

        Examples:
            >>> Hour(date(2026, 3, 1), 13).is_over(datetime(2026, 3, 1, 15, 59, tzinfo=UTC))
            False
        """
        # The end of the calendar's last hour is not representable.
        return moment.replace(tzinfo=UTC) - LATENESS - timedelta(hours=1) >= self.start


HOURS = 24
"""The hours of a day."""


def hours_of(day: date) -> Iterator[Hour]:
    """Yield the 24 hours of a day, in order."""
    return (Hour(day, hour) for hour in range(HOURS))
