"""Plan the queries for the needed hours with the fewest requests; no I/O."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Literal, NamedTuple, Self

from adanalytics_client import QuotaState
from adanalytics_client._base.choices import Via
from adanalytics_client._base.dates import days_between
from adanalytics_client._events.auto import MOST_FULL_PAGES, lay_out, pages_of
from adanalytics_client.pricing import Estimate, Pace, prices

from .records.layout import Hour

Way = Literal["pages", "export"]
"""How the events of a query arrive: page by page, or as an export that the service writes."""

DAYS_PER_EXPORT = 31
"""The most days of one bulk export, which bounds the disk space for its file."""

NO_LIMIT = date.max.toordinal()
"""More days than any range has."""


@dataclass(frozen=True, slots=True)
class PullQuery:
    """The events of some days, or of one hour of one day.

    Attributes:
        hour: the one hour, or None for all.
        wanted: the hours to commit, in order; the response may also contain other hours.
    """

    way: Way
    first: date
    last: date
    hour: int | None
    wanted: tuple[Hour, ...]

    @classmethod
    def of_hour(cls, hour: Hour) -> Self:
        return cls("pages", hour.day, hour.day, hour.hour, (hour,))

    def __str__(self) -> str:
        if self.hour is not None:
            return str(Hour(self.first, self.hour))
        return str(self.first) if self.first == self.last else f"{self.first}..{self.last}"


class ExpectedCounts(NamedTuple):
    """The expected events.

    Attributes:
        counts: the approximate number of events on each day that has data; 0 where it is unknown.
        whole: the days on which every hour that has begun is needed.
        page: the number of events on a full page.
        longest: the most days of a query.
    """

    counts: Mapping[date, int]
    whole: Collection[date]
    page: int
    longest: int = NO_LIMIT


def plan_queries(
    hours: Iterable[Hour], counts: ExpectedCounts, *, via: Via, by_hour: bool = False
) -> list[PullQuery]:
    """Return the queries for all needed hours, in the order of their days.

    With `by_hour`, each hour gets its own, because the events do not tell their hours. Without
    counts, `auto` takes pages.
    """
    if by_hour:
        return [*map(PullQuery.of_hour, sorted(hours))]
    by_day = {day: tuple(hours) for day, hours in groupby(sorted(hours), lambda hour: hour.day)}
    if via == "export":
        runs = runs_of(by_day, counts.counts, counts.longest)
        queries = [query for run in runs for query in _by_export(run, by_day)]
    else:
        queries = []
        whole = [day for day in by_day if day in counts.whole]
        for run in runs_of(whole, counts.counts, counts.longest):
            # Days side by side share a query or an export, so runs of days are priced, not days.
            ways = [[*_by_pages(run, by_day, counts)]]
            if via == "auto" and all(map(counts.counts.get, run)):
                ways.append([*_by_export(run, by_day)])
            queries += min(ways, key=lambda way: _price(way, counts))
        # Some hours of a day: an export would bring the whole day for them.
        for day in by_day.keys() - counts.whole:
            queries += _of_some_hours(by_day[day], counts)
    return sorted(queries, key=lambda query: (query.first, query.hour or 0))


def requests_of(query: PullQuery, counts: ExpectedCounts) -> int:
    """Return the minimum number of requests for a query; filtered events are not counted."""
    if query.way == "export":
        estimate = Estimate(query.first, query.last, _counts_of(query, counts) or None)
        return prices(estimate, QuotaState(None, None, None))[-1].requests
    return pages_of(events_of(query, counts), counts.page)


def events_of(query: PullQuery, counts: ExpectedCounts) -> int:
    """Estimate the number of events in a query; an hour counts as 1/24 of its day."""
    return -(-sum(_counts_of(query, counts).values()) // (1 if query.hour is None else 24))


def _counts_of(query: PullQuery, counts: ExpectedCounts) -> dict[date, int]:
    days = days_between(query.first, query.last)
    return {day: counts.counts[day] for day in days if day in counts.counts}


def runs_of(days: Iterable[date], others: Iterable[date], longest: int) -> Iterator[list[date]]:
    """Group ordered days that one query can span: no other day with data is between them."""
    with_data = sorted(others)
    run: list[date] = []
    for day in days:
        # A day with data in between would be pulled, too.
        is_apart = run and bisect_right(with_data, run[-1]) < bisect_left(with_data, day)
        if is_apart or (run and (day - run[0]).days >= longest):
            yield run
            run = []
        run.append(day)
    if run:
        yield run


def _price(queries: Iterable[PullQuery], counts: ExpectedCounts) -> tuple[int, int]:
    """Return the requests and the bytes of some queries."""
    pace, requests, size = Pace(), 0, 0
    for query in queries:
        requests += requests_of(query, counts)
        event = pace.row_bytes if query.way == "export" else pace.event_bytes
        size += events_of(query, counts) * event
    return requests, size


def _by_pages(
    run: list[date], by_day: Mapping[date, tuple[Hour, ...]], counts: ExpectedCounts
) -> Iterator[PullQuery]:
    """Query small days together, large ones and those of unknown size by the hour.

    A day that the service neither lists nor sums up is small: most likely it has no events.
    """
    counted = []
    for day in run:
        # Without a count, one query of the day may have more pages than the quota.
        if counts.counts.get(day, 1):
            counted.append(day)
        else:
            yield from map(PullQuery.of_hour, by_day[day])
    for stretch in lay_out(counted, counts.counts, size=counts.page, hour=None):
        span_days = counted[
            bisect_left(counted, stretch.start) : bisect_right(counted, stretch.end)
        ]
        hours = tuple(hour for day in span_days for hour in by_day[day])
        if stretch.cut == "whole":
            yield PullQuery("pages", span_days[0], span_days[-1], None, hours)
        else:
            yield from map(PullQuery.of_hour, hours)


def _by_export(run: list[date], by_day: Mapping[date, tuple[Hour, ...]]) -> Iterator[PullQuery]:
    # An export that fails takes all of its days with it.
    for begin in range(0, len(run), DAYS_PER_EXPORT):
        days = run[begin : begin + DAYS_PER_EXPORT]
        hours = tuple(hour for day in days for hour in by_day[day])
        yield PullQuery("export", days[0], days[-1], None, hours)


def _of_some_hours(hours: tuple[Hour, ...], counts: ExpectedCounts) -> Iterator[PullQuery]:
    """Query a few hours of a day one by one, unless the complete day takes fewer requests."""
    day = hours[0].day
    count = counts.counts.get(day, 0)
    by_hour = len(hours) * pages_of(count, 24 * counts.page)
    pages = pages_of(count, counts.page)
    if count and pages < by_hour and pages <= MOST_FULL_PAGES:
        yield PullQuery("pages", day, day, None, hours)
    else:
        yield from map(PullQuery.of_hour, hours)
