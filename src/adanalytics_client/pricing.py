"""Calculate, without I/O, what each way of pulling a range costs in requests, bytes and time.

The service documents neither its speed nor the size of an event, so times and sizes are estimated
with a `Pace`. The number of requests depends only on the number of events per day.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Literal

from ._base.dates import days_between
from ._base.quantities import counted
from ._events.auto import MOST_FULL_PAGES, lay_out, requests_of
from ._events.counts import day_counts
from ._events.plan import LARGEST_PAGE, DateRange, begun
from ._exports.wait import polls_within
from ._quota.window import QuotaState

if TYPE_CHECKING:
    from .models import Summary

Way = Literal["hourly", "auto", "export"]
"""A way to get events: pages for each hour, pages with `split="auto"`, or a bulk export."""

_NOUNS: Mapping[Way, str] = {"auto": "auto", "hourly": "the hour", "export": "an export"}

_ORDER_AND_FILE = 2
"""The requests of an export besides those for its state: its order, and its file."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The assumed speed of the service and the connection.

    Attributes:
        answer: seconds until the service begins to send a page.
        transfer: bytes per second.
        export_rows: how many rows per second the service writes to a bulk export.
        event_bytes: the size of an event on a page, in bytes; 637 for the reference server.
        row_bytes: the size of an event in a CSV export, in bytes; 273 for the reference server.

    Examples:
        >>> slow_line = Pace(transfer=1e6)
        >>> day = date(2026, 1, 15)
        >>> known = Estimate(day, day, {day: 1_000_000})
        >>> [round(price.seconds) for price in prices(known, client.quota, pace=slow_line)]
        [652, 652, 373]
    """

    answer: float = 0.5
    transfer: float = 10e6
    export_rows: float = 10e3
    event_bytes: int = 637
    row_bytes: int = 273


@dataclass(frozen=True, slots=True)
class Estimate:
    """The approximate number of events on each day of a range.

    Attributes:
        start: the first day.
        end: the last day, included.
        counts: the number of events on each day; None if these numbers are unknown.
        known_days: the days that are known to have data; set only if their event counts are
            unknown.
        before: the time that the pull uses as `only_before`, with a time zone, or None.
    """

    start: date
    end: date
    counts: Mapping[date, int] | None = field(repr=False)
    known_days: frozenset[date] | None = field(default=None, repr=False)
    before: datetime | None = None

    @classmethod
    def of(cls, summary: "Summary", start: date, end: date) -> "Estimate":
        """Return an estimate from the result of `client.summary(start, end, group_by="day")`.

        `counts` is None when there are no rows, or when a row lacks its day or its event counts.

        Examples:
            >>> start, end = date(2026, 1, 1), date(2026, 1, 31)
            >>> estimate = Estimate.of(client.summary(start, end, group_by="day"), start, end)
            >>> estimate.events, estimate.days
            (586, 2)
        """
        counts = day_counts(summary) or {}
        in_range = {day: n for day, n in counts.items() if start <= day <= end}
        return cls(start, end, in_range or None)

    @property
    def events(self) -> int | None:
        """Return a lower bound for the number of events: summaries leave out filtered ones."""
        return None if self.counts is None else sum(self.counts.values())

    @property
    def days(self) -> int | None:
        """Return the number of days that have data."""
        if self.counts is not None:
            return sum(count > 0 for count in self.counts.values())
        return None if self.known_days is None else len(self.known_days)


@dataclass(frozen=True, slots=True)
class Price:
    """The cost of one `Way`; `size` and `seconds` are None when the number of events is unknown.

    Attributes:
        way: the way.
        requests: the minimum number of requests that this way takes.
        size: bytes.
        seconds: the total time, including `waits`.
        waits: how many of the total `seconds` are spent waiting for quota.

    Examples:
        >>> day = date(2026, 1, 15)
        >>> hourly = prices(Estimate(day, day, {day: 2_000_000}), client.quota)[0]
        >>> hourly.requests, f"{hourly.size / 1e9:.1f} GB", f"{hourly.seconds / 60:.0f} min"
        (216, '1.3 GB', '3 min')
    """

    way: Way
    requests: int
    size: int | None
    seconds: float | None
    waits: float


@dataclass(frozen=True, slots=True)
class Choice:
    """The way that `choose` recommends for pulling a range.

    Attributes:
        way: the way.
        why: the reason for choosing this way, as a sentence.

    Examples:
        >>> day = date(2026, 1, 15)
        >>> known = Estimate(day, day, {day: 5_000})
        >>> print(choose(known, prices(known, client.quota)).why)
        1 request instead of 24 by the hour or 3 by an export
    """

    way: Way
    why: str


def prices(
    estimate: Estimate, quota: QuotaState, *, concurrency: int = 4, pace: Pace | None = None
) -> list[Price]:
    """Return the prices of the three ways to pull: hourly pages, `auto`, and a bulk export.

    Args:
        estimate: the number of events in the range.
        quota: the quota that is left; if its `limit` is None, no pull has to wait for quota.
        concurrency: requests in flight.
        pace: the assumed speed of the service and the connection.

    Examples:
        >>> day = date(2026, 1, 15)
        >>> known = Estimate(day, day, {day: 5_000})
        >>> [(price.way, price.requests) for price in prices(known, client.quota)]
        [('hourly', 24), ('auto', 1), ('export', 3)]
    """
    pace = pace or Pace()
    hourly = _begun([DateRange(estimate.start, estimate.end, "hour")], estimate)
    by_hour = requests_of(hourly, estimate.counts or {}, size=LARGEST_PAGE)
    return [
        _price_of_pages("hourly", by_hour, estimate, quota, concurrency, pace),
        _price_of_pages("auto", _auto_requests(estimate), estimate, quota, concurrency, pace),
        _price_of_export(estimate, quota, pace),
    ]


def choose(estimate: Estimate, offers: Iterable[Price]) -> Choice:
    """Choose the way with the fewest requests, then the fewest bytes, then the shortest time.

    Examples:
        >>> day = date(2026, 1, 15)
        >>> known = Estimate(day, day, {day: 5_000})
        >>> choose(known, prices(known, QuotaState(None, None, None))).way
        'auto'
    """
    priced = {price.way: price for price in offers}
    ways = [priced[way] for way in ("auto", "hourly", "export")]
    if estimate.events is None:
        return Choice("auto", "the number of events is unknown; auto finds it out as it reads")
    if not estimate.events:
        return Choice("auto", "no day of the range has data")
    best = min(ways, key=lambda price: (price.requests, price.size, price.seconds))
    # Of as many requests, the bytes or the time decide, which the prices show.
    alternatives = " or ".join(
        f"{price.requests:,} by {_NOUNS[price.way]}"
        for price in ways
        if price.requests > best.requests
    )
    why = counted(best.requests, "request")
    return Choice(best.way, f"{why} instead of {alternatives}" if alternatives else why)


def _auto_requests(estimate: Estimate) -> int:
    """Count the pages of an auto pull, and the requests that its plan costs."""
    counts = estimate.counts
    if counts is None:
        return 1
    days = list(days_between(estimate.start, estimate.end))
    layout = _begun(lay_out(days, counts, size=LARGEST_PAGE, hour=None), estimate)
    pages = requests_of(layout, counts, size=LARGEST_PAGE)
    if sum(counts.values()) <= MOST_FULL_PAGES * LARGEST_PAGE:
        return pages
    return pages + (1 if len(days) == 1 else 2)


def _begun(ranges: list[DateRange], estimate: Estimate) -> list[DateRange]:
    """Cut off days and hours that the pull leaves out, as they have not begun."""
    moment = estimate.before
    return ranges if moment is None else [*begun(ranges, moment.astimezone(UTC), hour=None)]


def _price_of_pages(
    way: Way, requests: int, estimate: Estimate, quota: QuotaState, concurrency: int, pace: Pace
) -> Price:
    waits = quota.wait_for(requests)
    if estimate.events is None:
        return Price(way, requests, None, None, waits)
    size = estimate.events * pace.event_bytes
    busy = max(requests * pace.answer / concurrency, pace.answer) + size / pace.transfer
    return Price(way, requests, size, busy + waits, waits)


def _price_of_export(estimate: Estimate, quota: QuotaState, pace: Pace) -> Price:
    if estimate.events is None:
        requests = _ORDER_AND_FILE + 1
        return Price("export", requests, None, None, quota.wait_for(requests))
    size, seconds = estimate.events * pace.row_bytes, estimate.events / pace.export_rows
    requests = _ORDER_AND_FILE + polls_within(seconds)
    waits = quota.wait_for(requests)
    return Price("export", requests, size, seconds + size / pace.transfer + waits, waits)
