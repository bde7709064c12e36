"""Which queries a pull of events consists of, known before anything is sent."""

from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

from adanalytics_client._checks import is_whole
from adanalytics_client._dates import days_between
from adanalytics_client.errors import ConfigurationError

Split = Literal["hourly", "daily", "none"]
"""How a range is cut: one query an hour, a day, or one for the whole range."""

LARGEST_PAGE = 10_000
"""The most events a page may hold; the service's own bound on `per_page`."""

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
class Plan:
    """The slices of a pull in the order of their events, and the size of a page.

    Example:
        >>> print(make_plan(date(2026, 1, 1), date(2026, 1, 31)))
        2026-01-01..2026-01-31, hourly: at least 744 requests of up to 10000 events
    """

    start: date
    end: date
    split: Split
    per_page: int
    slices: tuple[Slice, ...]

    @property
    def least_requests(self) -> int:
        """Requests when every slice fits on one page; more pages cost one each."""
        return len(self.slices)

    def __str__(self) -> str:
        whole = Slice(self.start, self.end)
        requests = "request" if self.least_requests == 1 else "requests"
        return (
            f"{whole}, {self.split}: at least {self.least_requests} {requests} "
            f"of up to {self.per_page} events"
        )


def make_plan(
    start: date,
    end: date,
    *,
    hour: int | None = None,
    split: str = "hourly",
    per_page: int | None = None,
) -> Plan:
    """Cut a range into slices.

    Raises:
        ConfigurationError: for an unknown split, an hour outside 0 to 23, a page size outside
            1 to 10,000, or more than `MOST_SLICES` slices.
    """
    if split not in get_args(Split):
        raise ConfigurationError(f"split={split!r}: choose hourly, daily or none.")
    if hour is not None and not is_whole(hour, 0, 23):
        raise ConfigurationError(f"hour={hour!r}: an hour is a whole number from 0 to 23.")
    size = LARGEST_PAGE if per_page is None else per_page
    if not is_whole(size, 1, LARGEST_PAGE):
        raise ConfigurationError(f"per_page={per_page!r}: a page holds 1 to {LARGEST_PAGE} events.")
    chosen: Split = "hourly" if split == "hourly" else "daily" if split == "daily" else "none"
    queries = 1 if chosen == "none" else (end - start).days + 1
    queries *= 24 if chosen == "hourly" and hour is None else 1
    if queries > MOST_SLICES:
        raise ConfigurationError(
            f"{start} to {end} would take {queries} requests, more than {MOST_SLICES}; "
            "check the days, pull a shorter range, or choose split='none'."
        )
    return Plan(start, end, chosen, size, _slices(start, end, chosen, hour))


def _slices(start: date, end: date, split: Split, hour: int | None) -> tuple[Slice, ...]:
    if split == "none":
        return (Slice(start, end, hour),)
    hours = range(24) if split == "hourly" and hour is None else (hour,)
    return tuple(Slice(day, day, each) for day in days_between(start, end) for each in hours)
