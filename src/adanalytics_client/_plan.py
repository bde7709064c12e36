"""Which queries a pull of events consists of, known before anything is sent."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, Self

from adanalytics_client._checks import is_whole
from adanalytics_client._dates import Day, days_between, to_day
from adanalytics_client._slices import Cut, Slice, Stretch, check_slices, runs_of, slices_of
from adanalytics_client.errors import ConfigurationError

Split = Literal["hourly", "daily", "none", "auto"]
"""How a range is cut: a query an hour, a day, one for all, or what costs the fewest requests."""

LARGEST_PAGE = 10_000
"""The most events a page may hold; the service's own bound on `per_page`."""

_SPLITS: dict[str, tuple[Split, Cut]] = {
    "hourly": ("hourly", "hour"),
    "daily": ("daily", "day"),
    "none": ("none", "whole"),
    "auto": ("auto", "whole"),
}


@dataclass(frozen=True, slots=True)
class Division:
    """Ask these slices instead of the one whose first page was read."""

    stretches: tuple[Stretch, ...]
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The slices of a pull in the order of their events, and the size of a page.

    With `split="auto"` the slices are where the pull begins; what its first page says decides
    whether it goes on there or asks for days and hours instead.

    Attributes:
        start, end: the days asked for, both included.
        split: how they are cut.
        per_page: events of a full page.
        slices: the queries, each of one page or more.
        stretches: the same as runs of days that are cut alike.
        hour: the one hour of each day that is asked for, or None for all.
        days: the days with data, where `only_days` told them.
        max_events: events after which the pull stops, or None; of a resumed pull, how many of them
            are left.

    Example:
        >>> print(client.events("2026-01-01", "2026-01-31").plan)
        2026-01-01..2026-01-31, hourly: at least 744 requests of up to 10000 events
    """

    start: date
    end: date
    split: Split
    per_page: int
    slices: tuple[Slice, ...]
    stretches: tuple[Stretch, ...]
    hour: int | None = None
    days: frozenset[date] | None = None
    max_events: int | None = None

    @property
    def least_requests(self) -> int:
        """Requests when every slice fits on one page and says so; more pages cost one each.

        A pull that stops at `max_events` may need fewer.
        """
        if self.max_events is not None and self.slices:
            return min(len(self.slices), -(-self.max_events // self.per_page))
        return len(self.slices)

    @property
    def most_requests(self) -> int | None:
        """The most requests without repeats after errors, or None when nobody can know.

        Only `max_events` and a plan without slices set a bound: how many events an hour has is
        known when it was asked for. It supposes that the service fills its pages, and leaves room
        for one more of each slice, which shows its end where pages say nothing.
        """
        if not self.slices or self.max_events == 0:
            return 0
        if self.max_events is None:
            return None
        pages = -(-self.max_events // self.per_page)
        if self.split != "auto":
            return 2 * len(self.slices) + pages - 1
        days = (self.end - self.start).days + 1
        # The first page, a look beyond it, `summary` and `dates` before the slices.
        return 4 + pages + 2 * days * (24 if self.hour is None else 1)

    def only_days(self, days: Iterable[Day]) -> Self:
        """The plan without queries for days that are not among `days`, such as `client.dates()`.

        A query of several days still brings those between them.

        Raises:
            ConfigurationError: for something that is no day.

        Example:
            >>> plan = client.events("2026-01-01", "2026-01-31").plan
            >>> plan.only_days(["2026-01-15", "2026-01-16"]).least_requests
            48
        """
        if isinstance(days, str) or not isinstance(days, Iterable):
            raise ConfigurationError(
                f"days={days!r}: pass several days, such as ['2026-01-15'] or client.dates()."
            )
        kept = frozenset(to_day(each, "days") for each in days)
        kept = frozenset(each for each in kept if self.start <= each <= self.end)
        if self.days is not None:
            kept &= self.days
        stretches = tuple(_among(self.stretches, kept))
        return replace(self, days=kept, stretches=stretches, slices=slices_of(stretches, self.hour))

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
    split: object = "hourly",
    per_page: int | None = None,
    max_events: int | None = None,
) -> Plan:
    """Cut a range into slices.

    Raises:
        ConfigurationError: for an unknown split, an hour outside 0 to 23, a page size outside
            1 to 10,000, or more than `MOST_SLICES` slices.
    """
    chosen = _SPLITS.get(split) if isinstance(split, str) else None
    if chosen is None:
        raise ConfigurationError(f"split={split!r}: choose hourly, daily, none or auto.")
    if hour is not None and not is_whole(hour, 0, 23):
        raise ConfigurationError(f"hour={hour!r}: an hour is a whole number from 0 to 23.")
    # A smaller page is as many requests and fewer bytes.
    size = min(LARGEST_PAGE, max_events or LARGEST_PAGE) if per_page is None else per_page
    if not is_whole(size, 1, LARGEST_PAGE):
        raise ConfigurationError(f"per_page={per_page!r}: a page holds 1 to {LARGEST_PAGE} events.")
    name, cut = chosen
    stretches = (Stretch(start, end, cut),)
    # What it may be cut to is checked when that is known; to decide it, days are looked at.
    check_slices([Stretch(start, end, "day")] if name == "auto" else stretches, hour)
    slices = slices_of(stretches, hour)
    return Plan(start, end, name, size, slices, stretches, hour=hour, max_events=max_events)


def _among(stretches: Iterable[Stretch], days: frozenset[date]) -> Iterator[Stretch]:
    """Cut stretches down to runs of these days; a gap inside a whole query costs nothing."""
    for stretch in stretches:
        kept = [day for day in days_between(stretch.start, stretch.end) if day in days]
        if stretch.cut == "whole":
            yield from [Stretch(kept[0], kept[-1], "whole")] if kept else []
            continue
        for run in runs_of(kept):
            yield Stretch(run[0], run[-1], stretch.cut)
