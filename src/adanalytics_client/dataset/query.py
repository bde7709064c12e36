"""What is asked of the service at a time, and the hours that its answer fills."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal, Self

from adanalytics_client.dataset.hours import Hour

Way = Literal["pages", "export"]
"""Page by page, or as one file that the service writes."""


@dataclass(frozen=True, slots=True)
class Query:
    """The events of some days, or of one hour of one day.

    Attributes:
        way: how they are asked for.
        first: the first day.
        last: the last day, included.
        hour: the one hour, or None for all.
        wanted: the hours to put in place, in order; others may be in the answer too.
    """

    way: Way
    first: date
    last: date
    hour: int | None
    wanted: tuple[Hour, ...]

    @classmethod
    def of_hour(cls, hour: Hour) -> Self:
        """The query for one hour."""
        return cls("pages", hour.day, hour.day, hour.hour, (hour,))

    def __str__(self) -> str:
        if self.hour is not None:
            return str(Hour(self.first, self.hour))
        return str(self.first) if self.first == self.last else f"{self.first}..{self.last}"

    def limited_to(self, hours: Mapping[Hour, object]) -> "Query":
        """The same question, of whose answer only some hours are wanted."""
        return replace(self, wanted=tuple(hour for hour in self.wanted if hour in hours))

    def as_json(self) -> dict[str, Any]:
        """For a sealed file."""
        return {
            "way": self.way,
            "first": str(self.first),
            "last": str(self.last),
            "hour": self.hour,
            "wanted": [str(hour) for hour in self.wanted],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """What `as_json` gave. Raises KeyError, TypeError or ValueError for anything else."""
        hour = record["hour"]
        return cls(
            "export" if record["way"] == "export" else "pages",
            date.fromisoformat(record["first"]),
            date.fromisoformat(record["last"]),
            None if hour is None else int(hour),
            tuple(map(Hour.read, record["wanted"])),
        )
