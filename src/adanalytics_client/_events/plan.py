"""Plan the queries of a pull of events before anything is sent."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal, Self

from adanalytics_client._base.choices import Split
from adanalytics_client._base.dates import Day, days_between, runs_of, to_day
from adanalytics_client._base.effects import Pairs
from adanalytics_client._base.quantities import counted
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.validation import check_choice, check_number, invalid
from adanalytics_client.errors import ConfigurationError

Cut = Literal["hour", "day", "whole"]
"""How a range of days is divided into queries."""

MOST_SLICES = 200_000
"""The most slices of a plan, 22 years of hours: a bound on memory, and a guard against typos."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One query for the days `start` to `end` (inclusive): one hour of each day, or all hours."""

    start: date
    end: date
    hour: int | None = None

    def __str__(self) -> str:
        days = str(self.start) if self.start == self.end else f"{self.start}..{self.end}"
        return days if self.hour is None else f"{days} hour {self.hour}"

    def parameters(self) -> dict[str, str]:
        """Return the query parameters of this slice."""
        dates = {"start_date": str(self.start), "end_date": str(self.end)}
        return dates if self.hour is None else {**dates, "hour": str(self.hour)}


@dataclass(frozen=True, slots=True)
class DateRange:
    """The days from `start` to `end`, both included, all divided into queries in the same way.

    A few ranges can describe a plan that covers years, so the plan fits into a resume token.

    Attributes:
        start: the first day.
        end: the last day, included.
        cut: `hour` or `day` for one query per hour or per day, or `whole` for a single query.
        hours: when `cut` is `hour`, how many hours of each day are requested.

    Examples:
        >>> week = DateRange(date(2026, 1, 12), date(2026, 1, 18), "hour")
        >>> len(list(week.slices(hour=None))), len(list(week.slices(hour=20)))
        (168, 7)
    """

    start: date
    end: date
    cut: Cut
    hours: int = 24

    def count(self, hour: int | None) -> int:
        """Return the number of queries in this range.

        Examples:
            >>> DateRange(date(2026, 1, 12), date(2026, 1, 18), "hour").count(hour=None)
            168
        """
        if self.cut == "whole":
            return 1
        days = (self.end - self.start).days + 1
        return days * self.hours if self.cut == "hour" and hour is None else days

    def slices(self, hour: int | None) -> Iterator[Slice]:
        """Yield this range's queries in order; with `hour`, only those for that hour of each day.

        Examples:
            >>> month = DateRange(date(2026, 1, 1), date(2026, 1, 31), "whole")
            >>> [str(each) for each in month.slices(hour=None)]
            ['2026-01-01..2026-01-31']
        """
        if self.cut == "whole":
            yield Slice(self.start, self.end, hour)
            return
        hours = range(self.hours) if self.cut == "hour" and hour is None else (hour,)
        for day in days_between(self.start, self.end):
            yield from (Slice(day, day, day_hour) for day_hour in hours)


def slices_of(ranges: Iterable[DateRange], hour: int | None) -> tuple[Slice, ...]:
    """List the queries of several ranges in order."""
    return tuple(slice_ for part in ranges for slice_ in part.slices(hour))


def check_slices(ranges: Sequence[DateRange], hour: int | None) -> None:
    """Refuse ranges of more than `MOST_SLICES` queries."""
    queries = sum(part.count(hour) for part in ranges)
    if queries > MOST_SLICES:
        raise ConfigurationError(
            f"{ranges[0].start} to {ranges[-1].end} would take {queries} requests, more than "
            f"{MOST_SLICES}.",
            remedy=remedy("split"),
        )


LARGEST_PAGE = 10_000
"""The most events that a page may hold; the service's own bound on `per_page`."""

_CUTS: dict[Split, Cut] = {"hourly": "hour", "daily": "day", "none": "whole", "auto": "whole"}


@dataclass(frozen=True, slots=True)
class Plan:
    """The slices of a pull, in chronological order, and the page size.

    With `split="auto"`, the plan has a single slice. After the first page, the pull either
    reads more pages of that slice or continues with queries for days and hours.

    Attributes:
        start: the first day to pull.
        end: the last day to pull, included.
        split: how the days are divided into queries.
        per_page: the number of events on a full page.
        slices: the queries; each returns one or more pages.
        ranges: the queries in `slices`, grouped into runs of days that are divided in the same way.
        hour: the hour to pull from each day, or None for all hours.
        days: the days passed to `only_days`, or None for all days.
        max_events: the maximum number of events, or None; in a resumed pull, the number remaining.
        before: the moment passed to `only_before`, or None.
        params: additional query parameters, as name-value pairs.
        by_hour: whether days may be divided by the hour, which some services ignore.

    Examples:
        >>> print(client.events("2026-01-01", "2026-01-31").plan)
        2026-01-01..2026-01-31, hourly: at least 744 requests of up to 10000 events
    """

    start: date
    end: date
    split: Split
    per_page: int
    slices: tuple[Slice, ...]
    ranges: tuple[DateRange, ...]
    hour: int | None = None
    days: frozenset[date] | None = None
    max_events: int | None = None
    before: datetime | None = None
    params: Pairs = ()
    by_hour: bool = True

    @property
    def least_requests(self) -> int:
        """Return the minimum number of requests: one for the first page of each query.

        If `max_events` can be reached with fewer pages, the minimum is lower.
        """
        if self.max_events is not None and self.slices:
            return min(len(self.slices), -(-self.max_events // self.per_page))
        return len(self.slices)

    @property
    def most_requests(self) -> int | None:
        """Return the maximum number of requests, not counting retries; None if there is no bound.

        There is a bound only if `max_events` is set or the plan has no slices. The bound assumes
        full pages, plus one more page per slice in case pages have no metadata that shows where the
        slice ends. Without totals, a resumed slice can need one more, for its previous page.
        """
        if not self.slices or self.max_events == 0:
            return 0
        if self.max_events is None:
            return None
        pages = -(-self.max_events // self.per_page)
        if self.split != "auto":
            return 2 * len(self.slices) + pages - 1
        days = (self.end - self.start).days + 1
        # The first page, a check of the page after it, `summary` and `dates` before the slices.
        return 4 + pages + 2 * days * (24 if self.hour is None else 1)

    def only_days(self, days: Iterable[Day]) -> Self:
        """Return the plan with only the queries for `days`; pass, for example, `client.dates()`.

        A query that spans several of the given days also returns events of other days between them.

        Raises:
            ConfigurationError: for a value that is not a day.

        Examples:
            >>> plan = client.events("2026-01-01", "2026-01-31").plan
            >>> plan.only_days(["2026-01-15", "2026-01-16"]).least_requests
            48
        """
        if isinstance(days, str) or not isinstance(days, Iterable):
            raise invalid(
                "days", days, "Pass several days, such as ['2026-01-15'] or client.dates()."
            )
        kept_days = frozenset(to_day(day, "days") for day in days)
        kept_days = frozenset(day for day in kept_days if self.start <= day <= self.end)
        # Two choices of days hold together.
        if self.days is not None:
            kept_days &= self.days
        ranges = tuple(_among(self.ranges, kept_days))
        return replace(self, days=kept_days, ranges=ranges, slices=slices_of(ranges, self.hour))

    def only_before(self, moment: datetime, zone: tzinfo = UTC) -> Self:
        """Return the plan without queries for hours and days that begin after `moment`.

        Args:
            moment: any moment.
            zone: the time zone of the service's days and hours.

        Raises:
            ConfigurationError: if `moment` has no time zone.

        Examples:
            >>> plan = client.events("2026-01-15").plan
            >>> plan.only_before(datetime(2026, 1, 15, 14, 20, tzinfo=UTC)).least_requests
            15
        """
        if moment.tzinfo is None:
            raise ConfigurationError(
                f"{moment} has no time zone.", remedy="Pass datetime.now(UTC) or the like."
            )
        local = moment.astimezone(zone)
        # Two moments hold together, as two choices of days do.
        local = min(local, self.before or local)
        ranges = tuple(begun(self.ranges, local, self.hour))
        slices = slices_of(ranges, self.hour)
        return replace(self, before=local, ranges=ranges, slices=slices)

    def __str__(self) -> str:
        slice_ = Slice(self.start, self.end)
        return (
            f"{slice_}, {self.split}: at least {counted(self.least_requests, 'request')} "
            f"of up to {self.per_page} events"
            f"{in_words(self.params)}"
        )

    def __repr__(self) -> str:
        return f"Plan({self})"

    def _repr_html_(self) -> str:
        facts = {
            "days": str(Slice(self.start, self.end, self.hour)),
            "split": self.split,
            "requests (at least)": self.least_requests,
            "events per page": self.per_page,
        }
        rows = "".join(f"<tr><th>{name}</th><td>{fact}</td></tr>" for name, fact in facts.items())
        return f"<table>{rows}</table>"


def in_words(params: Iterable[tuple[str, str]]) -> str:
    """Return further query parameters as the end of a description."""
    return "".join(f", {name}={value}" for name, value in params)


def make_plan(
    start: date,
    end: date,
    *,
    hour: int | None = None,
    split: Split = "hourly",
    per_page: int | None = None,
    max_events: int | None = None,
    params: Pairs = (),
    largest_page: int = LARGEST_PAGE,
    by_hour: bool = True,
) -> Plan:
    """Divide a range into slices.

    Args:
        largest_page: the most events that the service puts on a page.
        by_hour: whether the service heeds an hour; without it, `hourly` becomes `daily`.
    """
    check_choice("split", split, Split)
    check_number("hour", hour, 0, 23, none="all hours")
    if not by_hour:
        if hour is not None:
            raise invalid("hour", hour, remedy("hour_ignored"))
        split = "daily" if split == "hourly" else split
    # A smaller page takes as many requests and fewer bytes.
    size = min(LARGEST_PAGE, max_events or LARGEST_PAGE) if per_page is None else per_page
    check_number("per_page", size, 1, LARGEST_PAGE)
    size = min(size, largest_page)
    ranges = (DateRange(start, end, _CUTS[split]),)
    # Auto counts the events of each day, and checks its slices again after dividing the range.
    check_slices([DateRange(start, end, "day")] if split == "auto" else ranges, hour)
    slices = slices_of(ranges, hour)
    return Plan(
        start,
        end,
        split,
        size,
        slices,
        ranges,
        hour=hour,
        max_events=max_events,
        params=params,
        by_hour=by_hour,
    )


def begun(ranges: Iterable[DateRange], moment: datetime, hour: int | None) -> Iterator[DateRange]:
    """Cut off days and hours that begin after `moment`, which is in the service's time zone."""
    today = moment.date()
    yesterday = today - timedelta(days=1)
    # An hour of today that has not begun costs a request and brings nothing.
    last_day = today if hour is None or hour <= moment.hour else yesterday
    for part in ranges:
        last = min(part.end, last_day)
        if part.cut != "hour" or last < today:
            yield from [replace(part, end=last)] if part.start <= last else []
            continue
        if part.start < today:
            yield replace(part, end=yesterday)
        if part.start <= today:
            yield replace(part, start=today, end=today, hours=min(part.hours, moment.hour + 1))


def cut_day(plan: Plan) -> date:
    """Return the first day that `only_before` left out, wholly or in part; `date.max` for none."""
    if plan.before is None:
        return date.max
    day, last = plan.before.date(), plan.hour
    if last is None:
        # With auto, a day may yet be divided into hours.
        last = 23 if plan.split in {"hourly", "auto"} else 0
    if plan.before.hour < last:
        return day
    return day + timedelta(1) if day < plan.end else date.max


def _among(ranges: Iterable[DateRange], days: frozenset[date]) -> Iterator[DateRange]:
    """Reduce ranges to runs of these days; a gap inside a whole query costs no request."""
    for part in ranges:
        range_days = [day for day in days_between(part.start, part.end) if day in days]
        if part.cut == "whole":
            yield from [DateRange(range_days[0], range_days[-1], "whole")] if range_days else []
            continue
        for run in runs_of(range_days):
            yield replace(part, start=run[0], end=run[-1])


Plan.__module__ = "adanalytics_client"
for _class in (DateRange, Slice):
    _class.__module__ = "adanalytics_client.types"
