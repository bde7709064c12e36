"""The queries that a range of days is cut into, and the runs of days they come from."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from adanalytics_client._dates import days_between
from adanalytics_client.errors import ConfigurationError

Cut = Literal["hour", "day", "whole"]
"""How one stretch of days is cut."""

MOST_SLICES = 200_000
"""The most slices of a plan, 22 years of hours: a bound on memory, and a guard against typos."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One query of a plan: days from `start` to `end`, both included, and one hour or all.

    Example:
        >>> str(Slice(date(2026, 1, 15), date(2026, 1, 15), 3))
        '2026-01-15 hour 3'
    """

    start: date
    end: date
    hour: int | None = None

    def __str__(self) -> str:
        days = str(self.start) if self.start == self.end else f"{self.start}..{self.end}"
        return days if self.hour is None else f"{days} hour {self.hour}"

    def parameters(self) -> dict[str, str]:
        """The query parameters that name this slice."""
        named = {"start_date": str(self.start), "end_date": str(self.end)}
        return named if self.hour is None else {**named, "hour": str(self.hour)}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Days from `start` to `end`, both included, that are all cut in the same way.

    A plan of years is a few of them, so they are what a resume token carries.

    Attributes:
        start, end: the days, both included.
        cut: `hour`, `day`, or `whole` for one query of all its days.

    Example:
        >>> week = Stretch(date(2026, 1, 12), date(2026, 1, 18), "hour")
        >>> len(list(week.slices(hour=None))), len(list(week.slices(hour=20)))
        (168, 7)
    """

    start: date
    end: date
    cut: Cut

    def count(self, hour: int | None) -> int:
        """How many queries it has.

        Example:
            >>> Stretch(date(2026, 1, 12), date(2026, 1, 18), "hour").count(hour=None)
            168
        """
        if self.cut == "whole":
            return 1
        days = (self.end - self.start).days + 1
        return days * 24 if self.cut == "hour" and hour is None else days

    def slices(self, hour: int | None) -> Iterator[Slice]:
        """Its queries in order; with an hour, only that hour of each day.

        Example:
            >>> month = Stretch(date(2026, 1, 1), date(2026, 1, 31), "whole")
            >>> [str(each) for each in month.slices(hour=None)]
            ['2026-01-01..2026-01-31']
        """
        if self.cut == "whole":
            yield Slice(self.start, self.end, hour)
            return
        hours = range(24) if self.cut == "hour" and hour is None else (hour,)
        for day in days_between(self.start, self.end):
            yield from (Slice(day, day, each) for each in hours)


def slices_of(stretches: Iterable[Stretch], hour: int | None) -> tuple[Slice, ...]:
    """The queries of several stretches in order."""
    return tuple(each for stretch in stretches for each in stretch.slices(hour))


def check_slices(stretches: Sequence[Stretch], hour: int | None) -> None:
    """Refuse what is cut into more than `MOST_SLICES`.

    Raises:
        ConfigurationError: saying what to ask for instead.
    """
    queries = sum(each.count(hour) for each in stretches)
    if queries > MOST_SLICES:
        raise ConfigurationError(
            f"{stretches[0].start} to {stretches[-1].end} would take {queries} requests, more than "
            f"{MOST_SLICES}; check the days, pull a shorter range, or choose split='none'."
        )


def runs_of(days: Iterable[date]) -> Iterator[list[date]]:
    """Ordered days in groups without gaps."""
    run: list[date] = []
    for day in days:
        if run and (day - run[-1]).days > 1:
            yield run
            run = []
        run.append(day)
    if run:
        yield run
